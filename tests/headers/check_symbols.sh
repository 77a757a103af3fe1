#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What the shared library shows to the outside: the 84 names in their version, what librsm adds
# (extension_functions.txt beside FUNCTIONS), its soname, the private node of this version of librsm,
# and nothing else (H-11 to H-14). A release build needs libc
# alone.
#
#   check_symbols.sh NM READELF LIBRARY FUNCTIONS VERSION MODULES [SANITIZERS]
set -u
nm=$1 readelf=$2 library=$3 functions=$4 version=$5 modules=$6 sanitizers=${7:-}
LC_ALL=C
export LC_ALL

work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-symbols.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}

grep -v '^#' "$functions" | sed 's/.*/&@@SUNWprivate_1.1\n_&@@SUNWprivate_1.1/' |
    sort > "$work/wanted"
[ "$(wc -l < "$work/wanted")" -eq 84 ] || fail "$functions does not list 42 functions"
grep -v '^#' "${functions%/*}/extension_functions.txt" | sed 's/$/@@LIBRSM_1.1/' > "$work/added"
[ -s "$work/added" ] || fail "there is no list of extensions"
sort -o "$work/wanted" "$work/wanted" "$work/added"

# The version nodes themselves are absolute symbols.
"$nm" -D --defined-only --with-symbol-versions "$library" > "$work/all" || fail "$nm failed"
node=RSM_PRIVATE_$version
: > "$work/private"
awk -v node="@@$node" '
    index($3, node) && index($3, node) + length(node) == length($3) + 1 { print > private; next }
    { print }' private="$work/private" "$work/all" |
    awk -v node="$node" '!($2 == "A" && $3 == node)' > "$work/nm"
awk '!($2 == "A" && $3 ~ /^(SUNWprivate_1\.1|LIBRSM_1\.1)(@|$)/) { print $3 }' "$work/nm" | sort > "$work/found"
diff -u "$work/wanted" "$work/found" || fail "the exported symbols differ (- missing, + too many)"
awk '$2 == "A" { next } $2 != "T" && $2 != "W"' "$work/nm" | grep . && fail "not functions"

# No program defines a name of the private node by chance, and none of them is a variable but the one
# that functions of core/import.h read.
[ -s "$work/private" ] || fail "there is no $node"
awk '{ print $3 }' "$work/private" |
    grep -v '^rsmcore_' && fail "names in $node"
awk '$2 != "T" && $3 !~ /^rsmcore_mapping_engine@/' "$work/private" | grep . && fail "variables in $node"

# The mapping engine takes the core from the library. A transport must not: it runs in rsmd as well.
for module in "$modules"/librsm_*.so; do
    "$readelf" -d "$module" > "$work/module" || fail "$readelf failed"
    case $module in
    */librsm_mapping.so)
        grep -q 'NEEDED.*\[librsm\.so\.2\]' "$work/module" || fail "$module has a core of its own"
        "$nm" -a "$module" | grep -E ' [tT] (rsmcore_(log|faultchain|uffd|quiet)|rsm_msg)_?' &&
            fail "$module has copies of these"
        ;;
    *)
        grep 'NEEDED.*\[librsm\.so\.2\]' "$work/module" && fail "$module needs librsm.so.2"
        "$nm" -a "$module" | grep ' [tT] rsm_msg_' && fail "$module has more of the library than base"
        ;;
    esac
done

"$readelf" -d "$library" > "$work/dynamic" || fail "$readelf failed"
grep -q 'SONAME.*\[librsm\.so\.2\]' "$work/dynamic" || fail "the soname is not librsm.so.2"
grep -Eq 'RPATH|RUNPATH' "$work/dynamic" && [ -z "$sanitizers" ] && fail "it has a run path"
if [ -z "$sanitizers" ]; then
    sed -n 's/.*NEEDED.*\[\(.*\)\].*/\1/p' "$work/dynamic" |
        grep -Ev '^(libc\.so|ld-linux)' && fail "it needs more than libc"
fi
[ $failed -eq 0 ] && echo "84 symbols SUNWprivate_1.1; $(wc -l < "$work/added") LIBRSM_1.1; $(wc -l < "$work/private") in $node"
exit $failed
