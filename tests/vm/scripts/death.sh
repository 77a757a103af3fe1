#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# death.sh RSMD PEER: machine 2 uses memory of machine 1, which is refused, frozen,
# cut off and killed. The daemons trust MUNGE.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

rsmd=$1
peer=$2
export RSM_NODE=$LAB_MACHINE RSM_RUNTIME_DIR=/run/rsm

# start_munged WORD: with a key made of this run's nonce and that word.
start_munged() {
    if [ -e /run/munge/pid ]; then
        kill "$(cat /run/munge/pid)"
        lab_until 20 test ! -e /run/munge/pid || lab_fail 'munged does not end'
    fi
    mkdir -p /run/munge
    (
        umask 077
        {
            sed 's/.*lab.nonce=\([^ ]*\).*/\1/' /proc/cmdline
            echo "$1"
        } | sha512sum >/run/munge/key
    )
    munged --key-file=/run/munge/key --pid-file=/run/munge/pid --log-file=/run/munge/log \
        --seed-file=/run/munge/seed --socket=/run/munge/socket || lab_fail 'munged does not start'
}

start_rsmd() {
    cat >/run/rsm.conf <<END
[cluster]
auth = munge
munge-socket = /run/munge/socket
[node 1]
host = node1
address = 10.9.0.1
[node 2]
host = node2
address = 10.9.0.2
[controller sci0]
transport = verbs
device = rxe$LAB_MACHINE
[limits]
peer-timeout-ms = 6000
END
    mkdir -p /run/rsm
    "$rsmd" --foreground --config=/run/rsm.conf &
    lab_until 30 test -S "/run/rsm/node-$LAB_MACHINE.sock" || lab_fail 'rsmd does not listen'
}

# On a loaded host the machines may not hear of each other for so long that a first try fails.
begin_putting() {
    : >/run/said
    "$peer" until-lost 1 >/run/said &
    putting=$!
    lab_until 90 said_or_ended
    grep -q putting /run/said
}

said_or_ended() {
    grep -q putting /run/said || [ ! -e "/proc/$putting" ]
}

# lose VERB: begin to put, have it done to machine 1, and see the puts and new connections fail.
lose() {
    lab_until 90 begin_putting || lab_fail "no puts before $1"
    lab_machine "$1" 1
    wait "$putting" || lab_fail "the puts did not end as they should after $1"
    echo "$1: $(tail -n 1 /run/said)"
    lab_until 60 "$peer" unreachable 1 || lab_fail "no clear answer after $1"
}

recover() {
    lab_machine "$1" 1
    lab_until 60 "$peer" use 1 || lab_fail "it does not work again after $1"
}

if [ "$LAB_MACHINE" -eq 1 ]; then
    start_munged right
    start_rsmd
    "$peer" export >/run/said &
    lab_until 60 grep -q exporting /run/said || lab_fail 'nothing is exported'
    lab_note exporting
    wait # until the host ends it
    lab_fail 'the exporter ended'
fi

start_munged wrong
start_rsmd
lab_await exporting 120
"$peer" unreachable 1 || lab_fail 'a node with another key is not refused'
start_munged right
lab_until 60 "$peer" use 1 || lab_fail 'no link with the right key'
lose freeze
recover thaw
lose unplug
recover plug
lose kill
