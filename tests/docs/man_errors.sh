#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# man_errors.sh SOURCE: the codes that the manual pages list for each function are those of
# errors.txt, and rsm_common.h defines them.
set -u
source=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-man.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

perl "$here/man_facts.pl" errors "$source"/man/*.3rsm | sort > "$work/listed"
awk '/^#/ || NF == 0 { next }
     /^[^ ]/ { function_name = $1; first = 2 }
     /^ / { first = 1 }
     { for (i = first; i <= NF; i++) print function_name, "RSMERR_" $i }' "$here/errors.txt" |
    sort > "$work/expected"
if ! diff "$work/expected" "$work/listed"; then
    echo "FAILED: errors.txt (left) and the ERRORS sections (right) differ"
    failed=1
fi
if [ -n "$(uniq -d "$work/listed")" ]; then
    echo "FAILED: listed twice: $(uniq -d "$work/listed")"
    failed=1
fi
sed -n 's/^#define \(RSMERR_[A-Z_]*\) .*/\1/p' "$source/include/rsm/rsm_common.h" | sort -u > \
    "$work/defined"
grep -oh 'RSMERR_[A-Z_]*[A-Z]' "$source"/man/*.3{rsm,lib} | sort -u > "$work/used"
if [ -n "$(comm -13 "$work/defined" "$work/used")" ]; then
    echo "FAILED: rsm_common.h does not define $(comm -13 "$work/defined" "$work/used")"
    failed=1
fi
[ -s "$work/listed" ] || failed=1
echo "$(wc -l < "$work/listed") codes of $(cut -d' ' -f1 "$work/listed" | sort -u | wc -l) functions"
exit $failed
