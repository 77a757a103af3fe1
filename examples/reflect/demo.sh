#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# demo.sh BUILD_DIR: three nodes publish their states, and node 1 shows all of them. Node 3 is killed and comes back.
# Ends by itself; status 0 if node 1 has seen all of that.
# shellcheck source=../demo.bash
. "$(dirname "$0")/../demo.bash" "${1:?usage: demo.sh BUILD_DIR}"

reflect=$build/bin/reflect
declare -A nodes

start() { # start NODE: one whose screen is not shown
    RSM_NODE=$1 timeout -k 2 "$((seconds_allowed + 5))" "$reflect" -l >"$scratch/$1.out" 2>&1 &
    nodes[$1]=$!
    parties+=("$!")
}

# await_state NODE STATE [AFTER]: until node 1's screen has shown that, behind line AFTER.
await_state() {
    until tail -n "+$((${3-0} + 1))" "$scratch/one.screen" | grep -q "^node $1 *$2 "; do
        kill -0 "${nodes[1]}" 2>/dev/null || fail "node 1 ended too early"
        [ "$SECONDS" -lt "$seconds_allowed" ] || fail "node 1 does not show node $1 as $2 within $seconds_allowed s"
        sleep 0.05
    done
}

lines() {
    wc -l <"$scratch/one.screen"
}

need_programs "$reflect"
echo "nodes 1, 2 and 3 run: reflect      node, state, updates a second, age, count, and some values"
label one '[node 1]'
RSM_NODE=1 timeout -k 2 "$((seconds_allowed + 5))" "$reflect" -l >"$scratch/one.pipe" 2>&1 &
nodes[1]=$!
parties=("$!")
start 2
start 3
for node in 1 2 3; do
    await_state "$node" live
done

echo "demo: node 3 is killed"
killed=$(lines)
pkill -KILL -P "${nodes[3]}"
wait "${nodes[3]}" 2>/dev/null
parties=("${nodes[1]}" "${nodes[2]}")
await_state 3 gone "$killed"

echo "demo: node 3 comes back"
back=$(lines)
start 3
await_state 3 live "$back"
await_state 2 live "$back"

for node in 3 2 1; do
    pkill -TERM -P "${nodes[$node]}"
    await_end "${nodes[$node]}" "process of node $node"
done
parties=()
end_shows
echo "demo: node 1 has seen the states of all three, and node 3 go and come"
