#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What libsisci exports: each function of its header under its plain name and the two decorated ones,
# at one address, each flag and query as a constant, and nothing else; and that the header's list is
# not shorter than the file with the functions that there have to be.
#
#   check_symbols.sh NM LIBRARY HEADER FUNCTIONS
set -u
nm=$1
library=$2
header=$3
functions=$4
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0

complain()
{
    echo "$*"
    bad=1
}

# Functions are what the header declares outside of comments and macros.
sed 's|/\*.*\*/||' "$header" | awk '/\/\*/ { inside = 1 } !inside && !/^#/ { print } /\*\// { inside = 0 }' |
    grep -o '\(SCI\|DIS\)[A-Z][A-Za-z_]*(' | tr -d '(' | sort -u > "$work/declared"
grep -o '^#define SCI_\(FLAG\|Q\)_[A-Za-z0-9_]*' "$header" | cut -d' ' -f2 | sort -u > "$work/constants"
sort -u "$functions" > "$work/wanted"
comm -13 "$work/declared" "$work/wanted" > "$work/missing"
[ -s "$work/missing" ] && complain "not declared: $(tr '\n' ' ' < "$work/missing")"
comm -23 "$work/declared" "$work/wanted" > "$work/unlisted"
[ -s "$work/unlisted" ] && complain "not in $functions: $(tr '\n' ' ' < "$work/unlisted")"

"$nm" -D --defined-only --without-symbol-versions "$library" |
    awk '$2 != "A" { print $3, $1, $2 }' | grep -v '^__\(asan\|ubsan\|tsan\|odr\)' | sort > "$work/exported"
cut -d' ' -f1 "$work/exported" | sort > "$work/names"
{
    cat "$work/declared"
    sed 's/^/_SISCI_PUBLIC_FUNC_ST_/' "$work/declared"
    sed 's/^/_SISCI_PUBLIC_FUNC_MT_/' "$work/declared"
    sed 's/^/_SISCI_PUBLIC_CONST_/' "$work/constants"
} | sort > "$work/expected"
comm -13 "$work/names" "$work/expected" > "$work/missing"
[ -s "$work/missing" ] && complain "not exported: $(tr '\n' ' ' < "$work/missing")"
comm -23 "$work/names" "$work/expected" > "$work/more"
[ -s "$work/more" ] && complain "exported: $(tr '\n' ' ' < "$work/more")"

while read -r name; do
    count=$(grep -c "^\(_SISCI_PUBLIC_FUNC_[SM]T_\)\{0,1\}$name $(grep "^$name " "$work/exported" | cut -d' ' -f2) " "$work/exported")
    [ "$count" = 3 ] || complain "$name: its names are $count of 3 at one address"
done < "$work/declared"
[ "$(wc -l < "$work/declared")" -ge 19 ] || complain "there are hardly any functions"
exit "$bad"
