#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_refusals.sh RSMD RSMPERF: what the module refuses is told by rsmd's log, by rsmd --check and by the log of a
# program: hardware with unsafe doorbells, and a host whose driver has another version (hostile_peer.py).
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

rsmd=$1
rsmperf=$2
export RSM_NODE=1 RSM_RUNTIME_DIR=/run/rsm

mkdir -p /run/rsm
printf '[controller sci0]\ntransport = ntb\ndevice = /dev/rsm_ntb0\n' >/run/rsm.conf
ip link set lo up

# check TEXT: --check says so.
check() {
    "$rsmd" --check --config=/run/rsm.conf >/run/check 2>&1
    grep -q "$1" /run/check || lab_fail "rsmd --check does not say '$1': $(cat /run/check)"
}

start() {
    "$rsmd" --foreground --config=/run/rsm.conf 2>/run/log &
    daemon=$!
    lab_until 60 test -S /run/rsm/node-1.sock || lab_fail "rsmd does not listen: $(cat /run/log)"
}

logged() {
    grep -q "$1" /run/log
}

stop() {
    kill -TERM "$daemon"
    wait "$daemon"
}

# --- hardware that is not safe ---
for module in ntb 'ntb_hw_ivshmem unsafe=1' rsm_ntb; do
    # shellcheck disable=SC2086 # words
    set -- $module
    insmod "/lab/built/$1.ko" "${@:2}" || lab_fail "insmod $module"
done
[ ! -e /dev/rsm_ntb0 ] || lab_fail 'unsafe doorbells are used'
check 'doorbells are unsafe'
start
logged 'doorbells are unsafe' || lab_fail "rsmd does not tell: $(cat /run/log)"
RSM_LOG=error "$rsmperf" --node 1 -s 8 -o put64 -t 1 >/run/said 2>&1
grep -q 'doorbells are unsafe' /run/said || lab_fail "a program is not told: $(cat /run/said)"
echo "result: $(grep -m 1 'doorbells are unsafe' /run/said)"
stop
rmmod rsm_ntb ntb_hw_ivshmem ntb || lab_fail rmmod

# --- another version on the other host ---
lab_ntb
start
lab_note play-version
lab_await played-version
lab_until 30 logged 'speaks version 2' || lab_fail "rsmd does not tell: $(cat /run/log)"
echo "result: $(grep -m 1 'speaks version 2' /run/log)"
[ "$(grep -c 'speaks version 2' /run/log)" -eq 1 ] || lab_fail 'it is told again and again'
check 'speaks version 2'
lab_note play-good
lab_await played-good
healed() {
    "$rsmd" --check --config=/run/rsm.conf 2>&1 | grep -q 'speaks version' || return 0
    return 1
}
lab_until 30 healed || lab_fail 'it is told after a session has begun'
stop
lab_ntb_end 0
