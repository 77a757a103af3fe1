#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Functions for scripts in which each of two machines is a host with one end of the bridge: /dev/rsm_ntb0,
# node LAB_MACHINE, a daemon that trusts MUNGE. The script sets rsmd, the daemon's path; `daemon` is its process.
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

# ntb_host: the network, the modules, the daemon, whose rsm.conf says beside [cluster] what the script has put into
# /run/nodes.conf: two nodes with one controller each, sci0, if it has not.
ntb_host() {
    ip link set lo up
    lab_ntb
    {
        printf '[cluster]\nauth = munge\nmunge-socket = /run/munge/socket\n'
        if [ ! -e /run/nodes.conf ]; then
            lab_wire 0 || lab_fail 'no network'
            printf '[node 1]\nhost = node1\naddress = 10.9.0.1\n'
            printf '[node 2]\nhost = node2\naddress = 10.9.0.2\n'
            printf '[controller sci0]\ntransport = ntb\ndevice = /dev/rsm_ntb0\n'
        else
            cat /run/nodes.conf
        fi
        printf '[limits]\npeer-timeout-ms = 6000\n'
    } >/run/rsm.conf
    lab_munged
    start_rsmd
}
