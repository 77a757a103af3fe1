#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# differences.sh TEST_WIRE RECORDINGS: recordings that say something else than rsmd does must fail, and
# those of another version of the protocol must be refused with RSM_ST_VERSION.
set -eu
player=$1 recordings=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-wire.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0

# expect_failure WHAT FILE SED-SCRIPT
expect_failure() {
    sed "$3" "$recordings/$2" >"$work/$2"
    if cmp -s "$recordings/$2" "$work/$2"; then
        echo "$1: nothing was changed in $2"
        failed=1
    elif "$player" "$work/$2" >"$work/log" 2>&1; then
        echo "$1: not noticed"
        failed=1
    else
        echo "$1: noticed"
    fi
}

expect_failure "another status" greetings.txt '0,/2c000000  status/s/2c000000  status/05000000  status/'
expect_failure "another length" segments.txt \
    '/^< b IMPORT_CONNECT/,/blob/s/0020000000000000  length/0030000000000000  length/'
expect_failure "a descriptor more" look_around.txt '/^< a TOPOLOGY/s/$/\nfds pipe:read-only/'
expect_failure "a descriptor of another kind" segments.txt 's/memory:read-only/memory:read-write/'
expect_failure "another table" events.txt 's/generations-1-/generations-2-/'
expect_failure "a field less" events.txt '/  items.pending/d'
# shellcheck disable=SC2016 # the $ is sed's
expect_failure "another id" events.txt \
    '/^< a INSPECT/,$s/\(..\)000000  items.id/7f000000  items.export_id id:object\n    \1000000  items.id/'
expect_failure "another answer of a host" other_host.txt \
    '/^< p CONNECT_REPLY/,/^$/s/06000000  rights/04000000  rights/'

# Every type of message has been recorded, and answered with success.
sed -n 's/^RSM_MESSAGE(\([A-Z_]*\),.*/\1/p' "${0%/*}/../../librsm/protocol/messages.def" >"$work/types"
[ -s "$work/types" ] || failed=1
while read -r type; do
    cat "$recordings"/*.txt | grep -A 5 "^< [a-z] $type$" | grep -q '^    00000000  status' || {
        echo "no recording has a $type that succeeds"
        failed=1
    }
done <"$work/types"

mkdir "$work/2"
for recording in "$recordings"/*.txt; do
    sed 's/^    01000000  version\b/    02000000  version/; s/^protocol 1$/protocol 2/' "$recording" \
        >"$work/2/${recording##*/}"
done
rm "$work/2/other_host_refused.txt" # has none of the control protocol
recorded=$(find "$work/2" -type f | wc -l)
if "$player" "$work"/2/*.txt >"$work/log" 2>&1 &&
    [ "$(grep -c 'protocol 2 is refused with RSM_ST_VERSION' "$work/log")" -eq "$recorded" ]; then
    echo "another version: refused, and nothing else"
else
    cat "$work/log"
    echo "another version: not refused as it should be"
    failed=1
fi
exit "$failed"
