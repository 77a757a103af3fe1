#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# demo.sh BUILD_DIR: rings of messages in memory that two processes share: on one host, and between two, whose daemons talk
# by TCP over loopback addresses. Ends by itself; status 0 if all messages were right.
# shellcheck source=../demo.bash
. "$(dirname "$0")/../demo.bash" "${1:?usage: demo.sh BUILD_DIR}"

ring=$build/bin/ring
messages_each=${RSM_DEMO_MESSAGES:-2000}
[ ! -e "$build/lib/rsm/librsm_tcp.so" ] || export RSM_MODULE_DIR=${RSM_MODULE_DIR:-$build/lib/rsm}

# host NODE: its rsmd, as on a host of its own.
host() {
    mkdir -p "$scratch/h$1"
    printf '%s\n' '[cluster]' 'auth = none' 'insecure = yes' \
        '[node 1]' 'host = host1' "address = 127.$network.1" '[node 2]' 'host = host2' "address = 127.$network.2" \
        '[controller sci0]' 'transport = tcp' >"$scratch/h$1.conf"
    "$RSM_RSMD" --foreground --stderr --config "$scratch/h$1.conf" --node "$1" --runtime-dir "$scratch/h$1" \
        >"$scratch/h$1.log" 2>&1 &
    daemons[$1]=$!
    parties+=("$!")
}

# on NODE ARGUMENTS...: the program on that host.
on() {
    RSM_NODE=$1 RSM_RUNTIME_DIR=$scratch/h$1 timeout -k 2 "$seconds_allowed" "$ring" "${@:2}"
}

await_host() {
    until [ -S "$scratch/h$1/node-$1.sock" ]; do
        kill -0 "${daemons[$1]}" 2>/dev/null || fail "the daemon of node $1 ended: $(tail -n 1 "$scratch/h$1.log")"
        [ "$SECONDS" -lt "$seconds_allowed" ] || fail "the daemon of node $1 does not listen within $seconds_allowed s"
        sleep 0.05
    done
}

need_programs "$ring"
network=$(($$ / 250 % 150 + 100)).$(($$ % 250 + 1)) # another one for each demo that runs here
daemons=()
echo "two processes send each other messages of 64 bytes; on one host, by shared memory:"
"$ring" -n "$messages_each" memory || fail "the processes of one host"
host 1
host 2
await_host 1
await_host 2
RSM_NODE=1 RSM_RUNTIME_DIR=$scratch/h1 "$ring" serve &
server=$!
parties+=("$server")
echo "the same between two hosts, by TCP:"
on 2 -n "$messages_each" map 1 || fail "the client with a mapping ended with status $?"
on 2 -n "$messages_each" put 1 || fail "the client with put and get ended with status $?"
kill "$server"
wait "$server" || fail "the server ended with status $?"
echo "demo: all answers were right"
