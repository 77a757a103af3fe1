#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# machines.sh CONFORMANCE ARGUMENTS...: the suite as between two machines (--machines), both of which are this one,
# under two loopback addresses: each side runs its tests while the other one has the agent.
set -u
conformance=$1
shift
number=$((($$ & 0x3fffff) << 1))
address=127.$((number >> 16 & 0xff | 0x80)).$((number >> 8 & 0xff)).
exporter=$address$((number & 0xff)) importer=$address$((number & 0xff | 1))
log=$(mktemp)
agent=
trap '[ -z "$agent" ] || kill -KILL "$agent"; rm -f "$log"' EXIT

# half SIDE OTHER: the tests of a side.
half() {
    local status=0 begun=$SECONDS
    : >"$log" # of what the agent before has said
    "$conformance" "${arguments[@]}" --side "$2" --serve >"$log" 2>&1 &
    agent=$!
    until grep -q serving "$log"; do
        if [ $((SECONDS - begun)) -gt 60 ] || ! kill -0 "$agent"; then
            echo "no agent:"
            cat "$log"
            exit 1
        fi
        sleep 0.05
    done
    "$conformance" "${arguments[@]}" --side "$1" || status=$?
    kill "$agent"
    wait "$agent"
    agent=
    if [ $status -ne 0 ]; then
        echo "the agent:"
        tail -n 50 "$log"
        exit 1
    fi
}

arguments=("$@" --machines "$exporter,$importer")
half importer exporter
half exporter importer
