#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_conformance.sh CONFORMANCE CONF [ARGUMENTS]: the suite between two machines: the exporter's is 1, the
# importer's is 2. One after the other runs the tests whose own process is on its side, while the other one has
# the agent.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

conformance=$1
conf=$2
shift 2
set -- --controller sci0 --nodes 1,2 --conf-node1 "$conf" --conf-node2 "$conf" --machines 10.9.0.1,10.9.0.2 "$@"
side=exporter
[ "$LAB_MACHINE" -eq 1 ] || side=importer

# serve SIDE ARGUMENTS...: until that side has run its tests.
serve() {
    local agent other=$1
    shift
    "$conformance" "$@" --side $side --serve >/run/agent 2>&1 &
    agent=$!
    lab_until 60 grep -q serving /run/agent || lab_fail "no agent: $(cat /run/agent)"
    lab_note "serving-$side"
    lab_await "done-$other" 3000
    kill "$agent"
    wait "$agent"
}

# run_tests SIDE ARGUMENTS...: when that side has an agent.
run_tests() {
    local status=0
    lab_await "serving-$1" 3000
    shift
    "$conformance" "$@" --side $side >/run/results || status=$?
    grep -v '^ok' /run/results
    [ $status -eq 0 ] || lab_fail "$side's side: status $status"
    sed -n "s/^\([A-Z]: .*passed, .*\)/result: $side's side: \1/p" /run/results
    lab_note "done-$side"
}

ip link set lo up
lab_wire 0 || lab_fail 'no network'
lab_ntb
lab_munged
ln -s socket /run/munge/munge.socket.2 # where rsmd looks for it by default
lab_until 60 test -c /dev/rsm_ntb0 || lab_fail "there is no bridge: $(dmesg | tail)"
if [ $side = exporter ]; then
    serve importer "$@"
    run_tests importer "$@"
else
    run_tests exporter "$@"
    serve exporter "$@"
fi
lab_ntb_end 0
