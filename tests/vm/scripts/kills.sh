#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# kills.sh RSMD KILL_MACHINE SIDE: the machine of the exporters (1) or of the importers (2), whichever
# SIDE says, is killed while each of its processes is amid another operation. The other one looks at
# what its own processes learn of it, and at what is left in its daemon.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

rsmd=$1
kill_machine=$2
victim=$3
peer_timeout=6000 # ms; 3000 unless configured, which under emulation is little
within=15000      # ms; the bar is the peer's time-out, and a slow machine takes its time

side=exporter
[ "$LAB_MACHINE" -eq 1 ] || side=importer
export RSM_NODE=$LAB_MACHINE RSM_RUNTIME_DIR=/run/rsm

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
peer-timeout-ms = $peer_timeout
END
    mkdir -p /run/rsm
    "$rsmd" --foreground --config=/run/rsm.conf &
    daemon=$!
    lab_until 60 test -S "/run/rsm/node-$LAB_MACHINE.sock" || lab_fail 'rsmd does not listen'
}

descriptors() {
    find "/proc/$daemon/fd" -mindepth 1 | wc -l
}

# Open ones of all processes; rsmd always has one.
# shellcheck disable=SC2010,SC2012 # this find(1) knows no link targets
memfds() {
    ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c '/memfd:'
}

no_more_than() {
    [ "$(descriptors)" -le "$1" ] && [ "$(memfds)" -le "$2" ]
}

# The daemon makes extents ahead, and does not wait for them.
made_ahead() {
    local before
    before=$(descriptors)
    sleep 1
    [ "$(descriptors)" -eq "$before" ]
}

lab_munged
start_rsmd
lab_until 60 made_ahead || lab_fail 'an idle rsmd opens descriptors all the time'
# The idle daemon's own, without a link, which has gone at the end, too. From its first client on it
# keeps one more in reserve.
descriptors_before=$(($(descriptors) + 1))
memfds_before=$(memfds)
ls -l "/proc/$daemon/fd" >/run/descriptors
[ "$memfds_before" -ge 1 ] || lab_fail 'memfds cannot be counted'

if [ "$side" = "$victim" ]; then
    "$kill_machine" victim "$side" &
    wait $! # until the host ends it
    lab_fail 'the parties ended'
fi

: >/run/said
"$kill_machine" survivor "$side" /run/killed "$within" >/run/said 2>/run/complaints &
parties=$!
lab_until 300 grep -q 'under way' /run/said || {
    cat /run/complaints
    lab_fail 'the parties do not get going'
}
: >/run/killed
lab_machine kill $((3 - LAB_MACHINE))
wait $parties
status=$?
cat /run/said
[ $status -eq 0 ] || {
    tail -n 20 /run/complaints
    lab_fail 'not all went as it should'
}
lab_until 30 no_more_than "$descriptors_before" "$memfds_before" || {
    cat /run/descriptors
    ls -l "/proc/$daemon/fd"
    lab_fail "left in rsmd: $(descriptors) descriptors, $descriptors_before before;" \
        "memfds: $(memfds), $memfds_before before"
}
[ "$(find /run/rsm -type s -o -type f | wc -l)" -eq 2 ] || lab_fail "files: $(find /run/rsm)"
echo "left behind: nothing"
