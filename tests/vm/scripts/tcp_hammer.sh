#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# tcp_hammer.sh PROGRAM: a test of two hosts (tests/integration/hosts.h) in one machine, whose hosts have a network name
# space each, as tests/integration/networks.sh makes them.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

ip link set lo up
for host in 0 1; do
    ip netns add host$host || lab_fail 'no network name space'
    ip -n host$host link set lo up
done
ip -n host0 link add wire type veth peer name wire netns host1 || lab_fail 'no veth'
for host in 0 1; do
    ip -n host$host addr add 10.99.0.$((host + 1)) peer 10.99.0.$((2 - host)) dev wire
    ip -n host$host link set wire up
done
lab_munged
ln -s socket /run/munge/munge.socket.2
export RSM_TEST_NETWORKS=/run/netns/host
"$@" >/run/output 2>&1
status=$?
cat /run/output
[ $status -eq 0 ] || lab_fail "$1: status $status"
sed -n 's/^ *\([0-9]* rounds, .*\)/result: \1/p' /run/output
