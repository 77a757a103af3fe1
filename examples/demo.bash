# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the demos of the examples have in common; sourced, with the name of the build folder. A demo
# shows two programs of two nodes in one terminal, and leaves no process and no file behind.
set -u
exec </dev/null # nothing is read, and it may have been closed

seconds_allowed=${RSM_DEMO_SECONDS:-30}
messages=("Hello from node 2" "These words travel through shared memory" "Goodbye")
# shellcheck disable=SC2034 # of the demos
readonly messages

build=$(realpath -- "${1:?usage: demo.sh BUILD_DIR}") || exit 1
export RSM_RSMD=${RSM_RSMD:-$build/bin/rsmd}
export RSM_LOG=${RSM_LOG:-error}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/rsm-demo.XXXXXX") || exit 1
export RSM_RUNTIME_DIR=$scratch/nodes
parties=() # processes of the programs that are shown
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
    for pid in "${parties[@]}"; do
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

# await_end PID NAME
await_end() {
    local status=0
    wait "$1" || status=$?
    [ "$status" -ne 124 ] || fail "the $2 does not end"
    [ "$status" -eq 0 ] || fail "the $2 ended with status $status"
}

# need_programs PROGRAM...
need_programs() {
    local program
    for program in "$@" "$RSM_RSMD"; do
        [ -x "$program" ] || fail "$program is missing"
    done
}

# Whoever was labelled has ended: wait until all of it has been shown, and the daemons have ended.
end_shows() {
    wait "${labellers[@]}"
    labellers=()
    await_daemons || exit 1
}
