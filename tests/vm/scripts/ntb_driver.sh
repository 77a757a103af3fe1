#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_driver.sh PROGRAM [hostile]: rsm_ntb between two machines, without librsm (tests/vm/ntb/driver.c), or
# between one and a process on the host that lies (hostile.c, hostile_peer.py).
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

mount -t debugfs debugfs /sys/kernel/debug
# A machine of the lab may stand still for seconds, and is not dead for that.
load() {
    insmod "/lab/built/$1.ko" "${@:2}" || lab_fail "insmod $*"
}
load ntb
load ntb_hw_ivshmem beat_misses=60
pool=()
[ $# -eq 1 ] || pool=(pool_mib=4) # of which a block of pages could be had, if the bridge could map it
load rsm_ntb heartbeat_misses=30 "${pool[@]}"
status=0
[ $# -eq 2 ] || set -- "$1" "$LAB_MACHINE" "$LAB_LIFE"
"$@" || status=$?
dmesg | grep -E 'rsm_ntb' | tail -n 40
# A warning of the kernel is a failure, whatever the program saw.
if dmesg | grep -E -A 50 'WARNING:|BUG:|Oops|refcount_t|possible circular'; then
    lab_fail "the kernel complained"
fi
[ "$status" -eq 0 ] || exit "$status"
rmmod rsm_ntb || lab_fail "rmmod rsm_ntb"
rmmod ntb_hw_ivshmem || lab_fail "rmmod ntb_hw_ivshmem"
rmmod ntb || lab_fail "rmmod ntb"
