#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_unbind.sh PROGRAM TIMES: in a machine with both ends of a bridge, whose pools are device memory, the devices
# go and come back while processes use everything that their descriptors can do (tests/vm/ntb/unbind.c). The kernel
# looks for memory that is used after its end: the test fails on whatever it finds. The steps by which the driver lets
# the device go return late (tests/vm/kernel/rsm_delay), for what others can see in between would last microseconds.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

for check in sanity_checks red_zone poison store_user; do
    [ "$(cat /sys/kernel/slab/kmalloc-rnd-01-64/$check /sys/kernel/slab/kmalloc-64/$check 2>/dev/null |
        sort -u)" = 1 ] || lab_fail "the kernel's slabs are not checked: $check"
done
# Values that mean nothing are refused, not tried.
mount -t debugfs debugfs /sys/kernel/debug
insmod /lab/built/ntb.ko || lab_fail 'insmod ntb'
for parameter in pool_mib=0 heartbeat_ms=0 heartbeat_misses=0 pool_mib=-1 pool_mib=x; do
    ! insmod /lab/built/rsm_ntb.ko $parameter 2>/run/said || lab_fail "rsm_ntb was loaded with $parameter"
    grep -q Invalid /run/said || lab_fail "$parameter: $(cat /run/said)"
done
rmmod ntb
umount /sys/kernel/debug
lab_ntb pool_mib=4
# What begins and ends the callbacks and the node; and ends the session, the drivers' part of the pool, and the window.
late=(ntb_set_ctx misc_register misc_deregister ntb_clear_ctx rsm_session_leave rsm_pool_unmap iounmap)
insmod /lab/built/rsm_delay.ko functions="$(IFS=, && echo "${late[*]}")" || lab_fail 'insmod rsm_delay'
status=0
"$1" unbind "$2" || status=$?
delayed=$(</sys/module/rsm_delay/parameters/delayed)
echo "result: returned late: ${late[*]}: $delayed times"
[[ ! ,$delayed, =~ ,0, ]] || lab_fail 'a step was not delayed'
rmmod rsm_delay || lab_fail 'rmmod rsm_delay'
lab_ntb_end "$status"
