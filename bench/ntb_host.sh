#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_host.sh [BUILD [NAME]]: what librsm's put, get and barriers cost beside bare loads and stores through the same mapping, over
# the tests' bridge (doc/testing.md): two daemons of this host, without a kernel module or a virtual machine. The window is then ordinary,
# cached memory, so that the figures show what the processor spends on librsm's instructions, and nothing of a bridge.
# Then what a post takes to a process that waits for it, by doorbell and by the daemons' link.
# BUILD is a folder with release build and tests, build/release by default; NAME is one operation, like "put 8". With
# NTB_BENCH_UNDER="valgrind --tool=callgrind ..." the importer runs under that.
set -eu
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build/release}")
place=$(mktemp -d)
all=$place
export RSM_MODULE_DIR=$build/tests/ivshmem/modules RSM_LOG=error

finish() {
    local job
    for job in $(jobs -p); do
        kill "$job" 2>/dev/null || true
    done
    wait
    rm -r "$all"
}
trap finish EXIT

# until_is FILE: it is there within ten seconds.
until_is() {
    local turn
    for turn in $(seq 200); do
        [ ! -e "$1" ] || return 0
        sleep 0.05
    done
    echo "$0: there is no $1 after $turn turns" >&2
    return 1
}

# hosts FOLDER OPTIONS: a bridge, and the daemons of two nodes with one end each.
hosts() {
    local place=$1 node
    mkdir "$place"
    "$build/tests/bin/ivshmem_server" --socket "$place/bridge" &
    until_is "$place/bridge"
    for node in 1 2; do
        mkdir "$place/$node"
        printf '%s\n' '[cluster]' 'auth = none' 'insecure = yes' '[node 1]' 'host = host1' 'address = 127.1.0.1' \
            '[node 2]' 'host = host2' 'address = 127.1.0.2' '[controller sci0]' 'transport = ntb' \
            "device = ivshmem:$place/bridge" "options = $2" >"$place/$node.conf"
        "$build/bin/rsmd" --foreground --config="$place/$node.conf" --node=$node --runtime-dir="$place/$node" &
        until_is "$place/$node/node-$node.sock"
    done
}

# end: all that runs in the background.
end() {
    # shellcheck disable=SC2046 # words
    kill $(jobs -p) 2>/dev/null || true
    wait
}

# posts FOLDER: rsmperf's table of them.
posts() {
    local turn
    RSM_NODE=1 "$build/bin/rsmperf" --serve -d "$1/1" >/dev/null &
    for turn in $(seq 100); do
        RSM_NODE=2 "$build/bin/rsmperf" --node 1 -d "$1/2" -s 8 -o put64 -t 1 >/dev/null 2>&1 && break
        sleep 0.1
    done
    RSM_NODE=2 "$build/bin/rsmperf" --node 1 -d "$1/2" -s 8 -o post-spin,post-sleep -t 500 | grep -E '^(OPERATION|post)'
}

if [ $# -lt 2 ]; then
    for doorbell in yes no; do
        echo "doorbell=$doorbell"
        hosts "$place/$doorbell" doorbell=$doorbell
        posts "$place/$doorbell"
        end
    done
fi
place=$place/window
hosts "$place" doorbell=yes
RSM_NODE=1 RSM_RUNTIME_DIR=$place/1 taskset -c 0 "$build/bin/ntb_bench" export "$place/enough" >/dev/null &
exporter=$!
RSM_NODE=2 RSM_RUNTIME_DIR=$place/2 ${NTB_BENCH_UNDER:-} "$build/bin/ntb_bench" 1 "${@:2}" | sed 's/^result: //'
touch "$place/enough"
wait "$exporter"
