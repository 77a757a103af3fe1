#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# For scripts that run a conformance suite between two machines: the exporter's is 1, the importer's is 2. One after
# the other runs the tests whose own process is on its side, while the other one has the agent.
side=exporter
[ "$LAB_MACHINE" -eq 1 ] || side=importer

# serve SIDE COMMAND...: until that side has run its tests.
serve() {
    local agent other=$1
    shift
    "$@" --side $side --serve >/run/agent 2>&1 &
    agent=$!
    lab_until 60 grep -q serving /run/agent || lab_fail "no agent: $(cat /run/agent)"
    lab_note "serving-$side"
    lab_await "done-$other" 3000
    kill "$agent"
    wait "$agent" || : # its status is the signal
}

# run_tests SIDE COMMAND...: when that side has an agent.
run_tests() {
    local status=0
    lab_await "serving-$1" 3000
    shift
    "$@" --side $side >/run/results || status=$?
    grep -v '^ok' /run/results
    [ $status -eq 0 ] || lab_fail "$side's side: status $status"
    sed -n "s/^\([A-Z]: .*passed, .*\)/result: $side's side: \1/p" /run/results
    lab_note "done-$side"
}

# both_sides PROGRAM CONF ARGUMENTS...: all of it, with a daemon that trusts MUNGE where it looks for that by default.
both_sides() {
    lab_munged
    ln -s socket /run/munge/munge.socket.2
    set -- "$1" --controller sci0 --nodes 1,2 --conf-node1 "$2" --conf-node2 "$2" --machines 10.9.0.1,10.9.0.2 "${@:3}"
    if [ $side = exporter ]; then
        serve importer "$@"
        run_tests importer "$@"
    else
        run_tests exporter "$@"
        serve exporter "$@"
    fi
}
