#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Functions for scripts in which each of two machines is a host: node LAB_MACHINE, with a daemon that trusts MUNGE. The
# script sets rsmd, the daemon's path; `daemon` is its process.
: "${rsmd:=}" # the script sets it
export RSM_NODE=$LAB_MACHINE RSM_RUNTIME_DIR=/run/rsm

start_rsmd() {
    mkdir -p /run/rsm
    "$rsmd" --foreground --config=/run/rsm.conf &
    daemon=$!
    lab_until 60 listens_or_ended
    [ -S "/run/rsm/node-$LAB_MACHINE.sock" ] || lab_fail 'rsmd does not listen'
}

listens_or_ended() {
    [ -S "/run/rsm/node-$LAB_MACHINE.sock" ] || [ ! -e "/proc/$daemon" ]
}

# begin WORD COMMAND...: in the background, until it has said so.
begin() {
    local word=$1
    shift
    : >/run/said
    "$@" >/run/said &
    begun=$!
    lab_until 90 said_or_ended "$word"
    grep -q "$word" /run/said || lab_fail "no $word: $(cat /run/said)"
}

said_or_ended() {
    grep -q "$1" /run/said || [ ! -e "/proc/$begun" ]
}

# wire_conf: the nodes of an rsm.conf, at the addresses of lab_wire 0, and what is on standard input.
wire_conf() {
    printf '[cluster]\nauth = munge\nmunge-socket = /run/munge/socket\n'
    printf '[node 1]\nhost = node1\naddress = 10.9.0.1\n'
    printf '[node 2]\nhost = node2\naddress = 10.9.0.2\n'
    cat
}

# tcp_host: the network, the daemon, and a controller on tcp. Nothing of soft-RoCE.
tcp_host() {
    ip link set lo up
    lab_wire 0 || lab_fail 'no network'
    wire_conf >/run/rsm.conf <<'END'
[controller sci0]
transport = tcp
[limits]
peer-timeout-ms = 20000
END
    lab_munged
    start_rsmd
}
