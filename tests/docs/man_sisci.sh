#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# man_sisci.sh SOURCE COMPILER: every function of SISCI is in the table of doc/sisci.md, and every
# function in that table; a manual page declares functions as the header does; no reference among the
# pages is dead; the errors that the pages name exist.
set -u
source=$1 compiler=$2
here=$(cd "$(dirname "$0")" && pwd)
facts() { perl "$here/man_facts.pl" "$1" "$source"/man/*.3sci; }
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-man.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}

sort -u "$source/tests/headers/sisci/functions.txt" > "$work/functions"
[ -s "$work/functions" ] || fail "no list of functions"
# shellcheck disable=SC2016 # the backticks are the table's
sed -n 's/^| `\([A-Za-z_]*\)` | \(done\|differs\|absent\) |.*/\1/p' "$source/doc/sisci.md" | sort > "$work/table"
diff "$work/functions" "$work/table" || fail "functions (left) and the table in doc/sisci.md (right) differ"

facts names | cut -d' ' -f2 | sort > "$work/named"
[ -z "$(uniq -d "$work/named")" ] || fail "on two pages: $(uniq -d "$work/named")"
[ -z "$(comm -13 "$work/functions" "$work/named")" ] ||
    fail "no function: $(comm -13 "$work/functions" "$work/named")"
# shellcheck disable=SC2016 # the backticks are the table's
sed -n 's/^| `\([A-Za-z_]*\)` | \(done\|differs\) |.*/\1/p' "$source/doc/sisci.md" | sort > "$work/done"
diff "$work/done" "$work/named" || fail "functions that work (left) and the names of pages (right) differ"

{
    echo '#include <sisci_api.h>'
    facts prototypes
} > "$work/prototypes.c"
[ "$(wc -l < "$work/prototypes.c")" -gt 10 ] || fail "the pages declare nothing"
"$compiler" -std=c11 -fsyntax-only -Wall -Wextra -Werror -I"$source/compat/sisci/include" \
    "$work/prototypes.c" || fail "SYNOPSIS and header disagree"

grep -oh 'SCI_ERR_[A-Z_]*[A-Z]' "$source"/man/*.3sci "$source/man/sisci.7" "$source/doc/sisci.md" |
    sort -u > "$work/used"
grep -oh 'SCI_ERR_[A-Z_]*[A-Z]' "$source/compat/sisci/include/sisci_error.h" | sort -u > "$work/defined"
[ -z "$(comm -13 "$work/defined" "$work/used")" ] ||
    fail "not in sisci_error.h: $(comm -13 "$work/defined" "$work/used")"

while read -r page name section; do
    case $section in
    3sci) grep -qxF "$name" "$work/named" ;;
    3lib | 7 | 8 | 5) [ -f "$source/man/$name.$section" ] ;;
    esac || fail "$page refers to $name($section), which is not there"
done < <(sed -n 's/^\.Xr \([A-Za-z._-]*\) \(3sci\|3lib\|[578]\).*/page \1 \2/p' "$source"/man/*.3sci "$source/man/sisci.7")
[ $failed -eq 0 ] && echo "$(wc -l < "$work/functions") functions, $(wc -l < "$work/done") of them work"
exit $failed
