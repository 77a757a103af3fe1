#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# demo.sh BUILD_DIR: shows the example, server on node 1 and client on node 2, both in this terminal.
# Ends by itself; status 0 if every message arrived and both sides ended well.
# shellcheck source=../demo.bash
. "$(dirname "$0")/../demo.bash" "${1:?usage: demo.sh BUILD_DIR}"

scitest=$build/bin/scitest
need_programs "$scitest"

echo "node 1 runs: scitest      node 2 runs: scitest -c -n 1"
label server '[node 1 server]'
RSM_NODE=1 timeout -k 2 "$((seconds_allowed + 5))" "$scitest" >"$scratch/server.pipe" 2>&1 &
server=$!
parties=("$server")
label client '[node 2 client]'
printf '%s\n' "${messages[@]}" >"$scratch/lines"
RSM_NODE=2 timeout -k 2 "$((seconds_allowed + 5))" "$scitest" -c -n 1 -w "$seconds_allowed" \
    >"$scratch/client.pipe" 2>&1 <"$scratch/lines" &
client=$!
parties+=("$client")
await_end "$client" "client (node 2)"
parties=("$server")
await_end "$server" "server (node 1)"
parties=()
end_shows
for i in "${!messages[@]}"; do
    grep -qxF -- "message $((i + 1)): ${messages[i]}" "$scratch/server.screen" ||
        fail "message '${messages[i]}' did not arrive"
done
echo "demo: ${#messages[@]} messages went from node 2 to node 1"
