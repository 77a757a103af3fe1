#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ring_test.sh BUILD_DIR: the demo of ring has all answers right, leaves nothing, and fails where there is no server.
set -u
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../..")
demo=$source/examples/ring/demo.sh
build=$1
TMPDIR=$(mktemp -d /tmp/rsm-ring.XXXXXX) || exit 1
export TMPDIR RSM_DEMO_MESSAGES=500 RSM_DEMO_SECONDS=100
trap 'rm -rf -- "$TMPDIR" "$TMPDIR.build"' EXIT

fail() {
    echo "FAILED: $*"
    exit 1
}

"$demo" "$build" >"$TMPDIR.screen" 2>&1 || fail "the demo ended with $?: $(cat "$TMPDIR.screen")"
cat "$TMPDIR.screen"
for way in memory mapping "put and get"; do
    grep -q "^$way: .* us (p99 .* messages a second$" "$TMPDIR.screen" || fail "there are no figures of $way"
done
rm -f "$TMPDIR.screen"
[ -z "$(ls -A "$TMPDIR")" ] || fail "files are left: $(ls -A "$TMPDIR")"

# A server that is not there.
mkdir -p "$TMPDIR.build/bin" "$TMPDIR.build/lib"
# shellcheck disable=SC2016
printf '#!/bin/sh\n[ "$1" = serve ] && exec sleep 100\nexec %s/bin/ring "$@"\n' "$build" >"$TMPDIR.build/bin/ring"
chmod 755 "$TMPDIR.build/bin/ring"
ln -s "$build/bin/rsmd" "$TMPDIR.build/bin/rsmd"
ln -s "$build/lib/rsm" "$TMPDIR.build/lib/rsm"
! "$demo" "$TMPDIR.build" >"$TMPDIR.build/screen" 2>&1 || fail "the demo has seen a server that is not there"
grep -q 'demo: failed: the client with a mapping' "$TMPDIR.build/screen" || fail "$(cat "$TMPDIR.build/screen")"

# What is wrong with the command line.
for wrong in "" "-n 0 memory" "-k x memory" "map" "map x" "put 0" "memory more" "-q memory" "other"; do
    # shellcheck disable=SC2086
    "$build/bin/ring" $wrong >/dev/null 2>&1
    [ $? -eq 2 ] || fail "ring $wrong does not end with 2"
done
"$build/bin/ring" -h | grep -q '^usage: ring' || fail "ring -h"
exit 0
