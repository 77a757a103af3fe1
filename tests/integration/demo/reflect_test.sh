#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# reflect_test.sh BUILD_DIR: the demo of reflect sees what it says, leaves nothing, and fails where a node does not come.
set -u
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../..")
demo=$source/examples/reflect/demo.sh
build=$1
TMPDIR=$(mktemp -d /tmp/rsm-reflect.XXXXXX) || exit 1
export TMPDIR
trap 'rm -rf -- "$TMPDIR" "$TMPDIR.build"' EXIT

fail() {
    echo "FAILED: $*"
    exit 1
}

"$demo" "$build" >"$TMPDIR.screen" 2>&1 || fail "the demo ended with $?: $(cat "$TMPDIR.screen")"
cat "$TMPDIR.screen"
rm -f "$TMPDIR.screen"
[ -z "$(ls -A "$TMPDIR")" ] || fail "files are left: $(ls -A "$TMPDIR")"

# A node 3 that says nothing is never live.
mkdir -p "$TMPDIR.build/bin"
# shellcheck disable=SC2016
printf '#!/bin/sh\n[ "$RSM_NODE" = 3 ] && exec sleep 100\nexec %s/bin/reflect "$@"\n' "$build" >"$TMPDIR.build/bin/reflect"
chmod 755 "$TMPDIR.build/bin/reflect"
ln -s "$build/bin/rsmd" "$TMPDIR.build/bin/rsmd"
! RSM_DEMO_SECONDS=4 "$demo" "$TMPDIR.build" >"$TMPDIR.build/screen" 2>&1 || fail "the demo has seen a node that is not there"
grep -q 'demo: failed: node 1 does not show node 3 as live' "$TMPDIR.build/screen" || fail "$(cat "$TMPDIR.build/screen")"

# What is wrong with the command line.
for wrong in "-r 0" "-k x" "-t" "more" "-q"; do
    # shellcheck disable=SC2086
    "$build/bin/reflect" $wrong >/dev/null 2>&1
    [ $? -eq 2 ] || fail "reflect $wrong does not end with 2"
done
"$build/bin/reflect" -h | grep -q '^usage: reflect' || fail "reflect -h"
! RSM_NODE=65 RSM_RUNTIME_DIR=$TMPDIR "$build/bin/reflect" -t 1 2>"$TMPDIR.build/error" || fail "node 65 has no slot"
grep -q 'there is room for nodes 1 to 64' "$TMPDIR.build/error" || fail "$(cat "$TMPDIR.build/error")"
exit 0
