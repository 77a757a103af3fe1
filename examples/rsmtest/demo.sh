#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# demo.sh BUILD_DIR: shows the example, exporter on node 1 and importer on node 2, both in this
# terminal. Plays the person who types: each message is typed when the former one has appeared on
# the exporter's screen. Ends by itself; status 0 if every message arrived and both sides ended well.
set -u
exec </dev/null # nothing is read, and it may have been closed

seconds_allowed=${RSM_DEMO_SECONDS:-30}
messages=("Hello from node 2" "These words travel through shared memory" "Goodbye")

build=$(realpath -- "${1:?usage: demo.sh BUILD_DIR}") || exit 1
rsmtest=$build/bin/rsmtest
export RSM_RSMD=${RSM_RSMD:-$build/bin/rsmd}
export RSM_LOG=${RSM_LOG:-error}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/rsm-demo.XXXXXX") || exit 1
export RSM_RUNTIME_DIR=$scratch/nodes
exporter=
importer=
labellers=()

reason=

# The reason is shown last, when both screens have been shown to their end.
fail() {
    reason=$*
    exit 1
}

# Whether a node daemon of this demo still runs: it holds the lock of its node.
daemons_running() {
    local lock
    for lock in "$RSM_RUNTIME_DIR"/*.lock; do
        if [ -e "$lock" ] && ! flock -n "$lock" true; then
            return 0
        fi
    done
    return 1
}

# Node daemons end by themselves when their last client has gone.
await_daemons() {
    while daemons_running; do
        if [ "$SECONDS" -ge $((seconds_allowed + 10)) ]; then
            echo "demo: a node daemon in $RSM_RUNTIME_DIR does not end" >&2
            return 1
        fi
        sleep 0.05
    done
}

clean_up() {
    local status=$? pid
    trap - EXIT INT TERM HUP
    exec 7>&-
    for pid in $exporter $importer; do
        kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    done
    [ ${#labellers[@]} -eq 0 ] || wait "${labellers[@]}"
    if await_daemons; then
        rm -rf -- "$scratch"
    else
        status=1
    fi
    [ -z "$reason" ] || echo "demo: failed: $reason" >&2
    exit "$status"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# label NAME TEXT: shows what arrives in the pipe NAME with TEXT before each line, and keeps it.
# It ends when the program that writes into the pipe has ended, and so needs one to be started.
label() {
    mkfifo "$scratch/$1.pipe"
    : >"$scratch/$1.screen"
    (
        trap '' INT TERM HUP # ends with its pipe
        while IFS= read -r line || [ -n "$line" ]; do
            printf '%s %s\n' "$2" "$line"
            printf '%s\n' "$line" >>"$scratch/$1.screen"
        done <"$scratch/$1.pipe"
    ) 7>&- &
    labellers+=($!)
}

# check_alive PID NAME: both sides are needed until the last message was shown.
check_alive() {
    kill -0 "$1" 2>/dev/null && return
    wait "$1"
    fail "the $2 ended too early, with status $?"
}

# await_screen PATTERN FAILURE: until a line on the exporter's screen matches. When the time is
# over, FAILURE says what did not happen.
await_screen() {
    until grep -q -- "$1" "$scratch/exporter.screen"; do
        check_alive "$exporter" "exporter (node 1)"
        [ -z "$importer" ] || check_alive "$importer" "importer (node 2)"
        [ "$SECONDS" -lt "$seconds_allowed" ] ||
            fail "$2 within $seconds_allowed s"
        sleep 0.02
    done
}

# await_end PID NAME
await_end() {
    local status=0
    wait "$1" || status=$?
    [ "$status" -ne 124 ] || fail "the $2 does not end"
    [ "$status" -eq 0 ] || fail "the $2 ended with status $status"
}

for program in "$rsmtest" "$RSM_RSMD"; do
    [ -x "$program" ] || fail "$program is missing"
done
mkfifo "$scratch/keyboard"
exec 7<>"$scratch/keyboard"

echo "node 1 runs: rsmtest -e -n 2      node 2 runs: rsmtest -i -n 1"
label exporter '[node 1 exporter]'
RSM_NODE=1 timeout -k 2 "$((seconds_allowed + 5))" "$rsmtest" -e -n 2 \
    >"$scratch/exporter.pipe" 2>&1 7>&- &
exporter=$!
await_screen '^Mbuf is' "the exporter (node 1) did not publish its segment"
label importer '[node 2 importer]'
RSM_NODE=2 timeout -k 2 "$((seconds_allowed + 5))" "$rsmtest" -i -n 1 -s \
    >"$scratch/importer.pipe" 2>&1 <"$scratch/keyboard" 7>&- &
importer=$!

for i in "${!messages[@]}"; do
    printf '%s\n' "${messages[i]}" >&7
    await_screen "^msg \[0x[0-9a-f]* $i [0-9]*\] ${messages[i]}\$" \
        "message '${messages[i]}' did not arrive"
done
exec 7>&- # end of input
await_end "$importer" "importer (node 2)"
importer=
await_end "$exporter" "exporter (node 1)"
exporter=
wait "${labellers[@]}"
labellers=()
await_daemons || exit 1
echo "demo: ${#messages[@]} messages went from node 2 to node 1"
