#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_host.sh [BUILD [NAME]]: what librsm's put, get and barriers cost beside bare loads and stores through the same mapping, over
# the ivshmem port: two daemons of this host, without a kernel module or a virtual machine. The window is then ordinary,
# cached memory, so that the figures show what the processor spends on librsm's instructions, and nothing of a bridge.
# BUILD is a folder with release build and tests, build/release by default; NAME is one operation, like "put 8". With
# NTB_BENCH_UNDER="valgrind --tool=callgrind ..." the importer runs under that.
set -eu
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build/release}")
place=$(mktemp -d)
export RSM_MODULE_DIR=$build/lib/rsm RSM_LOG=error

finish() {
    local job
    for job in $(jobs -p); do
        kill "$job" 2>/dev/null || true
    done
    wait
    rm -r "$place"
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

"$build/tests/bin/ivshmem_server" --socket "$place/bridge" &
until_is "$place/bridge"
for node in 1 2; do
    mkdir "$place/$node"
    printf '%s\n' '[cluster]' 'auth = none' 'insecure = yes' '[node 1]' 'host = host1' 'address = 127.1.0.1' \
        '[node 2]' 'host = host2' 'address = 127.1.0.2' '[controller sci0]' 'transport = ntb' \
        "device = ivshmem:$place/bridge" >"$place/$node.conf"
    "$build/bin/rsmd" --foreground --config="$place/$node.conf" --node=$node --runtime-dir="$place/$node" &
    until_is "$place/$node/node-$node.sock"
done
RSM_NODE=1 RSM_RUNTIME_DIR=$place/1 taskset -c 0 "$build/bin/ntb_bench" export "$place/enough" >/dev/null &
exporter=$!
RSM_NODE=2 RSM_RUNTIME_DIR=$place/2 ${NTB_BENCH_UNDER:-} "$build/bin/ntb_bench" 1 "${@:2}" | sed 's/^result: //'
touch "$place/enough"
wait "$exporter"
