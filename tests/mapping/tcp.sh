#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tcp.sh RSMD PROGRAM [ARGUMENT...]: run a litmus program between two nodes whose daemons are on one machine and joined
# by TCP, in a network of its own. Where that is impossible, status 77. The daemons wait long for each other: on a
# machine with little time for them a link that is cut would look like a store that is lost.
set -u

if [ "${RSM_LITMUS_HOSTS-}" = "" ]; then
    for tool in unshare ip; do
        command -v $tool >/dev/null || { echo "skipped: there is no $tool (util-linux, iproute2)"; exit 77; }
    done
    user=
    [ "$(id -u)" -eq 0 ] || user='--user --map-current-user --keep-caps'
    # shellcheck disable=SC2086 # words
    unshare $user --net true 2>/dev/null || { echo "skipped: this user makes no name spaces"; exit 77; }
    work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-litmus.XXXXXX") || exit 1
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    # shellcheck disable=SC2086
    RSM_LITMUS_HOSTS=$work/h unshare $user --net --pid --fork --kill-child --mount-proc sh "$0" "$@"
    exit
fi

rsmd=$1
shift
ip link set lo up || exit 1
for node in 1 2; do
    mkdir -m 0700 "$RSM_LITMUS_HOSTS$node" || exit 1
    cat > "$RSM_LITMUS_HOSTS$node.conf" << END || exit 1
[cluster]
auth = none
insecure = yes
[node 1]
host = host1
address = 127.1.0.1
[node 2]
host = host2
address = 127.1.0.2
[controller sci0]
transport = tcp
[limits]
peer-timeout-ms = 60000
END
    "$rsmd" --foreground --config="$RSM_LITMUS_HOSTS$node.conf" --node=$node \
        --runtime-dir="$RSM_LITMUS_HOSTS$node" &
done
for node in 1 2; do
    tries=0
    until [ -S "$RSM_LITMUS_HOSTS$node/node-$node.sock" ]; do
        tries=$((tries + 1))
        [ $tries -lt 6000 ] || { echo "FAILED: rsmd of node $node does not listen"; exit 1; }
        sleep 0.01
    done
done
"$@"
