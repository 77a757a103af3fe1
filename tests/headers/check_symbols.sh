#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What the shared library shows to the outside: the 84 names in their version, its soname, and
# nothing else (H-11 to H-14). A release build needs libc alone.
#
#   check_symbols.sh NM READELF LIBRARY FUNCTIONS [SANITIZERS]
set -u
nm=$1 readelf=$2 library=$3 functions=$4 sanitizers=${5:-}
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

# The version node itself is an absolute symbol.
"$nm" -D --defined-only --with-symbol-versions "$library" > "$work/nm" || fail "$nm failed"
awk '!($2 == "A" && $3 ~ /^SUNWprivate_1\.1(@|$)/) { print $3 }' "$work/nm" | sort > "$work/found"
diff -u "$work/wanted" "$work/found" || fail "the exported symbols differ (- missing, + too many)"
awk '$2 == "A" { next } $2 != "T" && $2 != "W"' "$work/nm" | grep . && fail "not functions"

"$readelf" -d "$library" > "$work/dynamic" || fail "$readelf failed"
grep -q 'SONAME.*\[librsm\.so\.2\]' "$work/dynamic" || fail "the soname is not librsm.so.2"
grep -Eq 'RPATH|RUNPATH' "$work/dynamic" && [ -z "$sanitizers" ] && fail "it has a run path"
if [ -z "$sanitizers" ]; then
    sed -n 's/.*NEEDED.*\[\(.*\)\].*/\1/p' "$work/dynamic" |
        grep -Ev '^(libc\.so|ld-linux)' && fail "it needs more than libc"
fi
[ $failed -eq 0 ] && echo "84 symbols, all of them SUNWprivate_1.1"
exit $failed
