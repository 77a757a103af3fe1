#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# groups.sh [--delay MS] [ARGS]: how long until all of 1, 2, 4, 8 and 16 members of a group have what was put
# over TCP. The writer and the members have a network name space each; each member has a node, a daemon and
# a server of its own, as if it were another host, and all share the processors of this machine. --delay
# makes the wire slow in both directions: whether the members' writes are under way at once shows then.
# ARGS go to rsmperf --group. ./dev bench groups builds what it needs.
set -eu
cd "$(dirname "$(realpath "$0")")/.."
build=${RSM_BUILD_DIR:-$PWD/build/release}

if [ "${RSM_BENCH_GROUPS-}" != inside ]; then
    export RSM_BENCH_GROUPS=inside RSM_BENCH_DELAY=
    wire=()
    if [ "${1-}" = --delay ]; then
        RSM_BENCH_DELAY=$2
        wire=(--wire "$build/bin/wire")
        cc -O2 -D_GNU_SOURCE -o "$build/bin/wire" tests/integration/links/wire.c
        shift 2
    fi
    exec tests/integration/networks.sh "${wire[@]}" "$PWD/bench/groups.sh" "$@"
fi

[ -z "$RSM_BENCH_DELAY" ] || echo "$RSM_BENCH_DELAY 0 0 0" >"$RSM_TEST_WIRE"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
export RSM_MODULE_DIR=$build/lib/rsm RSM_RSMD=/bin/false
{
    printf '[controller sci0]\ntransport = tcp\n[node 1]\nhost = writer\naddress = 10.99.0.1\n'
    for node in $(seq 2 17); do
        printf '[node %d]\nhost = h%d\naddress = 10.99.1.%d\n' "$node" "$node" "$node"
        ip -n host1 addr add "10.99.1.$node" dev wire
    done
} >"$directory/rsm.conf"
ip -n host0 route add 10.99.1.0/24 dev wire

# start NAMESPACE NODE: its daemon.
start() {
    mkdir -m 700 "$directory/$2"
    ip netns exec "$1" "$build/bin/rsmd" --foreground --node "$2" --runtime-dir "$directory/$2" \
        --config "$directory/rsm.conf" --log-level info 2>"$directory/$2.log" &
}

# at NAMESPACE NODE ARGS: rsmperf there.
at() {
    local space=$1 node=$2
    shift 2
    RSM_NODE=$node RSM_RUNTIME_DIR=$directory/$node ip netns exec "$space" stdbuf -oL "$build/bin/rsmperf" "$@"
}

# wait_for FILE TEXT LOG: until it is there.
wait_for() {
    local tries=0
    until grep -q "$2" "$1" 2>/dev/null; do
        tries=$((tries + 1))
        if [ $tries -gt 300 ]; then
            cat "$1" "$3" >&2
            echo "groups.sh: no '$2' after 30 s" >&2
            exit 1
        fi
        sleep 0.1
    done
}

start host0 1
wait_for "$directory/1.log" "listens at" "$directory/1.log"
members=0
for count in 1 2 4 8 16; do
    while [ $members -lt "$count" ]; do
        members=$((members + 1))
        node=$((members + 1))
        start host1 $node
        wait_for "$directory/$node.log" "listens at" "$directory/$node.log"
        at host1 $node --member >"$directory/$node.out" 2>&1 &
        wait_for "$directory/$node.out" Member "$directory/$node.log"
        wait_for "$directory/1.log" "link to node $node .* is up" "$directory/$node.log"
    done
    at host0 1 --group "$@"
done
