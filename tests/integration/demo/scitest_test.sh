#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# scitest_test.sh CASE DEMO BUILD_DIR: the example of SISCI, and its demo.
set -u
demo=$2
scitest=$3/bin/scitest
work=$(mktemp -d "${TMPDIR:-/tmp}/scitest-test.XXXXXX") || exit 1
export RSM_RUNTIME_DIR=$work/nodes RSM_RSMD=$3/bin/rsmd TMPDIR=$work
server=
client=
limit=40 # seconds, of what hangs

clean_up() {
    local status=$? pid
    for pid in $server $client; do
        kill -KILL "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    done
    rm -rf -- "$work"
    exit "$status"
}
trap clean_up EXIT

fail() {
    echo "FAILED: $*"
    tail -n 50 "$work"/*.screen
    exit 1
}

# start_server ARGUMENTS...
start_server() {
    RSM_NODE=1 "$scitest" "$@" >"$work/server.screen" 2>&1 7>&- &
    server=$!
}

# start_client ARGUMENTS... <INPUT
start_client() {
    RSM_NODE=2 "$scitest" -c -n 1 "$@" <"$work/input" >"$work/client.screen" 2>&1 &
    client=$!
}

# await SIDE PATTERN: until a line on its screen matches
await() {
    until grep -qE -- "$2" "$work/$1.screen"; do
        [ "$SECONDS" -lt "$limit" ] || fail "the $1 does not show '$2'"
        sleep 0.05
    done
}

# ends SIDE PID STATUS
ends() {
    local status=0
    while kill -0 "$2" 2>/dev/null; do
        [ "$SECONDS" -lt "$limit" ] || fail "the $1 does not end"
        sleep 0.05
    done
    wait "$2" || status=$?
    [ "$status" -eq "$3" ] || fail "the $1 ends with status $status, not $3"
}

mkfifo "$work/input"
case $1 in
arrives)
    "$demo" "$3" >"$work/demo.screen" 2>&1 || fail "the demo ends with status $?"
    await demo '^\[node 1 server\] message 1: Hello from node 2$'
    await demo '^\[node 2 client\] message 3 was taken$'
    await demo '^demo: 3 messages went from node 2 to node 1$'
    RSM_RSMD=$(type -P false) "$demo" "$3" >"$work/demo.screen" 2>&1 &&
        fail "the demo claims success without daemons"
    await demo 'scitest: SCIOpen: SCI_ERR_'
    await demo '^demo: failed: '
    rm -f "$work/input"
    [ "$(ls "$work")" = demo.screen ] || fail "files are left: $(ls "$work")"
    ;;
client-first)
    start_client -k 0xfffffffe -w 30
    exec 7>"$work/input"
    await client '^local node id = 2$'
    start_server -k 0xfffffffe -b 100000
    await client '^connected to segment 0xfffffffe of node 1$'
    printf 'one\n\nb\001ad\nlast, without a newline' >&7
    exec 7>&-
    ends client "$client" 0
    ends server "$server" 0
    for line in 'message 1: one' 'message 2: ' 'message 3: b?ad' 'message 4: last, without a newline'; do
        grep -qxF -- "$line" "$work/server.screen" || fail "'$line' did not arrive"
    done
    ;;
line-too-long)
    start_server -b 64
    await server 'is available$'
    start_client
    printf '%044d\n%045d\n' 1 2 >"$work/input"
    ends client "$client" 1
    ends server "$server" 1
    await client '^scitest: a line of 45 bytes does not fit, the segment has room for 44$'
    await server '^message 1: 0*1$'
    await server '^scitest: the client on node 2 has gone$'
    ;;
server-killed)
    start_server
    await server 'is available$'
    start_client
    exec 7>"$work/input"
    await client '^connected'
    kill -STOP "$server"
    echo one >&7
    kill -KILL "$server"
    ends client "$client" 1
    await client '^scitest: (the server has gone|SCITriggerInterrupt: SCI_ERR_NOT_CONNECTED .*|SCIStartSequence: .*)$'
    ;;
client-killed)
    start_server
    await server 'is available$'
    start_client
    exec 7>"$work/input"
    echo one >&7
    await client '^message 1 was taken$'
    kill -KILL "$client"
    ends server "$server" 1
    await server '^scitest: the client on node 2 has gone$'
    start_server # at once, with the same ids
    await server 'is available$'
    ;;
taken-id)
    start_server
    await server 'is available$'
    RSM_NODE=1 "$scitest" >"$work/second.screen" 2>&1 && fail "there are two servers"
    await second '^scitest: SCICreateSegment: SCI_ERR_SEGMENTID_USED '
    ;;
absent)
    rm "$work/input"
    : >"$work/input"
    start_client -w 1
    ends client "$client" 1
    await client '^scitest: SCIConnectSegment: SCI_ERR_NO_SUCH_SEGMENT '
    RSM_NODE=2 "$scitest" -a 7 >"$work/second.screen" 2>&1 && fail "there is no adapter 7"
    await second 'SCI_ERR_NO_SUCH_ADAPTERNO'
    "$scitest" -b 3 >"$work/third.screen" 2>&1
    [ $? -eq 2 ] || fail "a size of 3 is accepted"
    ;;
*)
    fail "unknown case: $1"
    ;;
esac
echo "as expected:"
cat "$work"/*.screen
