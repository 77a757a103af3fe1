#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_refusals.sh RSMD RSMPERF: what is wrong with a bridge is told in one line by rsmd's log, by rsmd --check and by
# the log of a program: no bus, no bridge, hardware with unsafe doorbells, no block of memory for the pool, a daemon
# that may not open the device, an alignment that the pool does not have, and a host whose driver has another version
# (hostile_peer.py).
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

rsmd=$1
rsmperf=$2
export RSM_NODE=1 RSM_RUNTIME_DIR=/run/rsm

mkdir -p /run/rsm
printf '[controller sci0]\ntransport = ntb\ndevice = /dev/rsm_ntb0\n' >/run/rsm.conf
ip link set lo up

# As root, or as the user that the script sets.
as=()

# check TEXT: --check says so.
check() {
    "${as[@]}" "$rsmd" --check --config=/run/rsm.conf >/run/check 2>&1
    grep -q "$1" /run/check || lab_fail "rsmd --check does not say '$1': $(cat /run/check)"
}

start() {
    "${as[@]}" "$rsmd" --foreground --config=/run/rsm.conf 2>/run/log &
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

# load MODULE [PARAMETER=VALUE...]
load() {
    insmod "/lab/built/$1.ko" "${@:2}" || lab_fail "insmod $*"
}

# told TEXT: by all three, in one line each.
told() {
    [ "$(grep -c "$1" /run/log)" -eq 1 ] || lab_fail "rsmd does not tell, or not once: $(cat /run/log)"
    check "$1"
    [ "$(grep -c "$1" /run/check)" -eq 1 ] || lab_fail "rsmd --check tells it twice: $(cat /run/check)"
    RSM_LOG=error "$rsmperf" --node 1 -s 8 -o put64 -t 1 >/run/said 2>&1
    grep -q "$1" /run/said || lab_fail "a program is not told: $(cat /run/said)"
    echo "result: $(grep -m 1 "$1" /run/said)"
}

# refused TEXT: there is no device, and all are told why.
refused() {
    [ ! -e /dev/rsm_ntb0 ] || lab_fail "the bridge is used in spite of: $1: $(dmesg | tail -n 5)"
    start
    told "$1"
    stop
}

# what the controller of a running daemon tells a program of its own log, and rsmstat
program_told() {
    RSM_LOG=error "$rsmperf" --node 1 -s 8 -o put64 -t 1 >/run/said 2>&1
    grep -q "controller sci0: it reaches no other host: ntb: /dev/rsm_ntb0: .*$1" /run/said ||
        lab_fail "a program is not told: $(cat /run/said)"
}

# --- no bus, no bridge ---
refused 'the kernel has no ntb bus.*modprobe rsm_ntb'
load ntb
refused 'the kernel module is not loaded: modprobe rsm_ntb'
load rsm_ntb
refused "no such bridge: load the hardware's driver"
rmmod rsm_ntb || lab_fail rmmod

# --- hardware that is not safe ---
load ntb_hw_ivshmem unsafe=1
load rsm_ntb
refused 'doorbells are unsafe'
rmmod rsm_ntb ntb_hw_ivshmem || lab_fail rmmod

# --- no IOMMU, and a pool that no block of memory has room for ---
load ntb_hw_ivshmem pages=1
load rsm_ntb pool_mib=8
refused 'no IOMMU translates.*no block of 8 MiB: boot with intel_iommu=on.*pool_mib=4'
rmmod rsm_ntb || lab_fail rmmod
load rsm_ntb pool_mib=4 # as it says
[ -e /dev/rsm_ntb0 ] || lab_fail "a pool of 4 MiB: $(dmesg | tail)"

# --- a daemon that may not open it ---
rm -f /run/rsm/*
chown nobody /run/rsm
as=(setpriv --reuid=nobody --clear-groups)
start
told 'Permission denied.*rsmd must run as root, or in the group of the device'
stop
as=()
rm -f /run/rsm/*
chown root /run/rsm
rmmod rsm_ntb ntb_hw_ivshmem ntb || lab_fail rmmod

# --- an alignment that the pool does not have ---
LAB_NTB_HARDWARE=align_mib=64 lab_ntb
start
lab_note play-good
lab_await played-good
lab_until 30 logged 'at a multiple of 67108864' || lab_fail "rsmd does not tell: $(cat /run/log)"
[ "$(grep -c 'at a multiple of 67108864' /run/log)" -eq 1 ] || lab_fail 'it is told again and again'
check 'the hardware wants a pool of at most .*, at a multiple of 67108864.*: boot with intel_iommu=on'
program_told 'at a multiple of 67108864'
echo "result: $(grep -m 1 'at a multiple of' /run/said)"
stop
rmmod rsm_ntb ntb_hw_ivshmem ntb || lab_fail rmmod
umount /sys/kernel/debug

# --- another version on the other host ---
lab_ntb
start
lab_note play-version
lab_await played-version
lab_until 30 logged 'speaks version 2' || lab_fail "rsmd does not tell: $(cat /run/log)"
echo "result: $(grep -m 1 'speaks version 2' /run/log)"
[ "$(grep -c 'speaks version 2' /run/log)" -eq 1 ] || lab_fail 'it is told again and again'
check 'speaks version 2'
program_told 'speaks version 2'
lab_note play-good
lab_await played-good
healed() {
    "$rsmd" --check --config=/run/rsm.conf 2>&1 | grep -q 'speaks version' || return 0
    return 1
}
lab_until 30 healed || lab_fail 'it is told after a session has begun'
RSM_LOG=error "$rsmperf" --node 1 -s 8 -o put64 -t 1 >/run/said 2>&1
! grep -q 'reaches no other host' /run/said || lab_fail "a program is told of what is over: $(cat /run/said)"
stop
lab_ntb_end 0
