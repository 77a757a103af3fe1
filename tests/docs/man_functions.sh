#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# man_functions.sh SOURCE COMPILER BUILD CMAKE: every function has one manual page, which declares it
# as the header does; no reference among the pages is dead; and man finds them where they are installed.
set -u
source=$1 compiler=$2 build=$3 cmake=$4
here=$(cd "$(dirname "$0")" && pwd)
facts() { perl "$here/man_facts.pl" "$1" "$source"/man/*.3{rsm,lib}; }
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-man.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}

grep -hv '^#' "$source"/tests/headers/{functions,extension_functions,inline_functions}.txt | sort > "$work/functions"
[ -s "$work/functions" ] || fail "no list of functions"
facts names | grep -v '^librsm' | cut -d' ' -f2 | sort > "$work/named"
diff "$work/functions" "$work/named" || fail "functions (left) and the names of pages (right) differ"

{
    printf '#include <%s>\n' rsmapi.h rsm/group.h rsm/rsm_strerror.h
    facts prototypes
} > "$work/prototypes.c"
sed -n 's/.* \(rsm_[a-z0-9_]*\)(.*/\1/p' "$work/prototypes.c" | sort > "$work/declared"
diff "$work/functions" "$work/declared" || fail "functions (left) and SYNOPSIS (right) differ"
"$compiler" -std=c11 -fsyntax-only -Wall -Wextra -Werror -I"$source/include" \
    -I"$source/compat/include" "$work/prototypes.c" || fail "SYNOPSIS and header disagree"

sed -n 's/^\.Xr \(rsm_[a-z0-9_]*\) 3rsm.*/\1/p' "$source/man/librsm.3lib" | sort -u > "$work/index"
diff "$work/functions" "$work/index" || fail "functions (left) and the index in librsm(3lib) differ"

facts names | cut -d' ' -f2 | sort -u > "$work/known"
declare -A known
while read -r name; do
    known[$name]=1
done < "$work/known"
while read -r page name section; do
    case $section in
    3rsm | 3lib) [ -n "${known[$name]-}" ] ;;
    *) [ -f "$source/man/$name.$section" ] || ! [[ $name =~ ^rsm\. ]] ;;
    esac || fail "$page refers to $name($section), which is not there"
done < <(facts references)

"$cmake" --install "$build/man" --prefix "$work/prefix" > "$work/log" || {
    cat "$work/log"
    fail "the pages cannot be installed"
}
if command -v man > /dev/null; then
    manuals=$(dirname "$(find "$work/prefix" -type d -name man3)")
    mapfile -t functions < "$work/functions"
    for section in "" 3rsm; do
        # shellcheck disable=SC2086 # no word if empty
        MANPATH='' man -M "$manuals" -w $section "${functions[@]}" > "$work/found" 2>&1
        [ "$(grep -c "^$manuals/" "$work/found")" -eq "${#functions[@]}" ] ||
            fail "man $section does not find all functions: $(cat "$work/found")"
    done
else
    echo "man is not installed: whether it finds the pages was not looked at"
fi
[ $failed -eq 0 ] && echo "$(wc -l < "$work/functions") functions"
exit $failed
