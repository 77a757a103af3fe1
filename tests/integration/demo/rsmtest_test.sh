#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rsmtest_test.sh CASE BUILD_DIR: what the example does beyond the demo.
set -u
case_name=$1
rsmtest=$2/bin/rsmtest
rsmd=$2/bin/rsmd
work=$(mktemp -d "${TMPDIR:-/tmp}/rsmtest-test.XXXXXX") || exit 1
export RSM_RUNTIME_DIR=$work/nodes RSM_LOG=error
exporter=

daemons_running() {
    local lock
    for lock in "$RSM_RUNTIME_DIR"/*.lock; do
        if [ -e "$lock" ] && ! flock -n "$lock" true; then
            return 0
        fi
    done
    return 1
}

clean_up() {
    local status=$?
    [ -z "$exporter" ] || kill -9 "$exporter" 2>/dev/null
    while daemons_running; do
        sleep 0.05
    done
    rm -rf -- "$work"
    exit "$status"
}
trap clean_up EXIT

fail() {
    echo "FAILED: $*"
    head -n 30 "$work"/*.screen
    exit 1
}

# export_on_1 OPTIONS: start the exporter and wait until its segment is published.
export_on_1() {
    RSM_NODE=1 "$rsmtest" -e -n 2 "$@" >"$work/exporter.screen" 2>&1 &
    exporter=$!
    until grep -q '^Mbuf is' "$work/exporter.screen"; do
        kill -0 "$exporter" 2>/dev/null || fail "the exporter ended"
        sleep 0.02
    done
}

# import_on_2 STATUS OPTIONS: run the importer, with this function's input.
import_on_2() {
    local expected=$1 status=0
    shift
    RSM_NODE=2 "$rsmtest" -i -n 1 "$@" >"$work/importer.screen" 2>&1 || status=$?
    [ "$status" -eq "$expected" ] || fail "the importer ended with $status instead of $expected"
}

# exporter_ends STATUS
exporter_ends() {
    local status=0
    wait "$exporter" || status=$?
    exporter=
    [ "$status" -eq "$1" ] || fail "the exporter ended with $status instead of $1"
}

# shown SIDE PATTERN
shown() {
    grep -qE -- "$2" "$work/$1.screen" || fail "the $1 did not show '$2'"
}

# exporter_shows TEXT...: these messages and no others.
exporter_shows() {
    diff <(printf '%s\n' "$@") <(sed -n 's/^msg \[[^]]*\] //p' "$work/exporter.screen") ||
        fail "the exporter showed other messages"
}

case $case_name in
mapped | put | gather)
    declare -A letters=([mapped]=-C [put]=-OC [gather]=-GC)
    export_on_1 -c 0
    printf 'one\n\n  three \nlast, without newline' | import_on_2 0 "${letters[$case_name]}"
    exporter_ends 0
    exporter_shows one '' '  three ' 'last, without newline'
    ;;
many)
    export_on_1 -c 500 -l 4096
    import_on_2 0 -c 500 -l 4096 -t 1 </dev/null
    exporter_ends 0
    [ "$(grep -c '^msg ' "$work/exporter.screen")" -eq 500 ] || fail "messages were lost"
    shown exporter '^msg \[0x[0-9a-f]+ 499 500\] message 500 '
    ;;
too-long)
    export_on_1 -b 4096 -l 4056
    printf 'short\nlonger than 8\nend\n' | import_on_2 1 -b 4096 -l 4056
    exporter_ends 0
    shown importer 'message of 13 bytes does not fit .* room for 8; it was not sent'
    exporter_shows short end
    ;;
control-characters)
    export_on_1
    printf 'a\033[2Jb\tc\n' | import_on_2 0
    exporter_ends 0
    exporter_shows 'a?[2Jb	c'
    ;;
exporter-ends-first)
    export_on_1 -c 1
    mkfifo "$work/keyboard"
    exec 7<>"$work/keyboard"
    echo only >&7
    import_on_2 0 <"$work/keyboard" # which stays open
    exporter_ends 0
    shown importer 'the exporter has ended'
    exporter_shows only
    ;;
exporter-killed)
    export_on_1
    mkfifo "$work/keyboard"
    exec 7<>"$work/keyboard"
    RSM_NODE=2 "$rsmtest" -i -n 1 <"$work/keyboard" >"$work/importer.screen" 2>&1 &
    importer=$!
    until grep -q 'Enter msg' "$work/importer.screen"; do sleep 0.02; done
    kill -9 "$exporter"
    wait "$exporter"
    exporter=
    wait "$importer"
    [ $? -eq 1 ] || fail "the importer did not end with 1"
    shown importer 'RSMERR_CONN_ABORTED \(40\): the connection is gone'
    ;;
importer-waits)
    RSM_NODE=2 "$rsmtest" -i -n 1 -t 1 -c 1 >"$work/importer.screen" 2>&1 &
    importer=$!
    until grep -q 'trying again' "$work/importer.screen"; do
        kill -0 "$importer" 2>/dev/null || fail "the importer ended"
        sleep 0.02
    done
    shown importer 'cannot connect to segment 0x400000 of node 1: RSMERR_[A-Z_]* \([0-9]*\): '
    export_on_1
    wait "$importer" || fail "the importer failed"
    exporter_ends 0
    ;;
other-node)
    export_on_1 -n 3
    echo refused | timeout -s INT 1 env RSM_NODE=2 "$rsmtest" -i -n 1 >"$work/importer.screen" 2>&1
    shown importer 'RSMERR_SEG_NOT_PUBLISHED_TO_NODE'
    echo own | RSM_NODE=1 "$rsmtest" -i -n 1 >"$work/importer.screen" 2>&1 || fail "its own node is refused"
    exporter_ends 0
    exporter_shows own
    ;;
unknown-node)
    printf '[node 1]\nhost = one\n[node 2]\nhost = two\n[controller sci0]\ntransport = shm\n' >"$work/rsm.conf"
    "$rsmd" --foreground --config="$work/rsm.conf" --node=1 --runtime-dir="$RSM_RUNTIME_DIR" \
        2>"$work/daemon.screen" &
    daemon=$!
    until [ -S "$RSM_RUNTIME_DIR/node-1.sock" ]; do
        kill -0 "$daemon" 2>/dev/null || fail "the daemon ended"
        sleep 0.02
    done
    status=0
    RSM_NODE=1 "$rsmtest" -e -n 3 >"$work/exporter.screen" 2>&1 || status=$?
    RSM_NODE=1 "$rsmtest" -e -n 99 >>"$work/exporter.screen" 2>&1 && fail "node 99 is accepted"
    kill "$daemon"
    wait "$daemon"
    [ "$status" -eq 1 ] || fail "the exporter ended with $status instead of 1"
    shown exporter 'rsm_memseg_export_publish: RSMERR_INTERNAL_ERROR .*: the controller has no path to that node; check -n'
    shown exporter 'RSMERR_BAD_ACL .*: an access list names nodes 1 to 64; check -n'
    shown daemon '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}[+-][0-9]{4} rsmd: node 1 listens'
    ! grep -q '^<' "$work/daemon.screen" || fail "priorities, without a journal"
    ;;
interrupted)
    export_on_1
    kill -TERM "$exporter"
    exporter_ends 1
    shown exporter 'ended by a signal'
    ;;
id-in-use)
    export_on_1
    status=0
    RSM_NODE=1 "$rsmtest" -e >"$work/second.screen" 2>&1 || status=$?
    [ "$status" -eq 1 ] || fail "the second exporter ended with $status"
    shown second 'rsm_memseg_export_publish: RSMERR_SEGID_IN_USE \(24\): another exporter'
    ;;
*)
    echo "unknown case: $case_name"
    exit 1
    ;;
esac
