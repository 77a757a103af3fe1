#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# demo.sh BUILD_DIR: shows the example, exporter on node 1 and importer on node 2, both in this
# terminal. Plays the person who types: each message is typed when the former one has appeared on
# the exporter's screen. Ends by itself; status 0 if every message arrived and both sides ended well.
# shellcheck source=../demo.bash
. "$(dirname "$0")/../demo.bash" "${1:?usage: demo.sh BUILD_DIR}"

rsmtest=$build/bin/rsmtest
exporter=
importer=

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

need_programs "$rsmtest"
mkfifo "$scratch/keyboard"
exec 7<>"$scratch/keyboard"

echo "node 1 runs: rsmtest -e -n 2      node 2 runs: rsmtest -i -n 1"
label exporter '[node 1 exporter]'
RSM_NODE=1 timeout -k 2 "$((seconds_allowed + 5))" "$rsmtest" -e -n 2 \
    >"$scratch/exporter.pipe" 2>&1 7>&- &
exporter=$!
parties=("$exporter")
await_screen '^Mbuf is' "the exporter (node 1) did not publish its segment"
label importer '[node 2 importer]'
RSM_NODE=2 timeout -k 2 "$((seconds_allowed + 5))" "$rsmtest" -i -n 1 -s \
    >"$scratch/importer.pipe" 2>&1 <"$scratch/keyboard" 7>&- &
importer=$!
parties+=("$importer")

for i in "${!messages[@]}"; do
    printf '%s\n' "${messages[i]}" >&7
    await_screen "^msg \[0x[0-9a-f]* $i [0-9]*\] ${messages[i]}\$" \
        "message '${messages[i]}' did not arrive"
done
exec 7>&- # end of input
await_end "$importer" "importer (node 2)"
parties=("$exporter")
await_end "$exporter" "exporter (node 1)"
parties=()
end_shows
echo "demo: ${#messages[@]} messages went from node 2 to node 1"
