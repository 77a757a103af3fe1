#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Run legacy_program against a private embedded node, twice: its segment id is free again (X-08).
#
#   legacy.sh PROGRAM
set -u
program=$1
. "$(dirname "$0")/private_node.sh"
private_node_begin

for run in first second; do
    if ! timeout 30 "$program" -r 5 > "$work/output" 2>&1; then
        echo "FAILED: $run run"
        cat "$work/output"
        exit 1
    fi
    if [ "$(grep -c 'line, and [0-4] to come$' "$work/output")" -ne 5 ]; then
        echo "FAILED: $run run printed"
        cat "$work/output"
        exit 1
    fi
done
timeout 30 "$program" -c loopback -k || exit 1
private_node_finished
