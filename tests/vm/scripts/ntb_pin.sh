#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_pin.sh PROGRAM [refused]: memory of processes behind the window, in place (tests/vm/ntb/pin.c). The
# device edu stores and loads there as the other host would, through the IOMMU if there is one.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

program=$1
mode=${2:-pin}
insmod /lab/built/ntb.ko || lab_fail 'insmod ntb'
insmod /lab/built/ntb_hw_edu.ko || lab_fail 'insmod ntb_hw_edu'

# --- the default: nothing can be pinned ---
insmod /lab/built/rsm_ntb.ko pool_mib=4 || lab_fail 'insmod rsm_ntb'
"$program" off || lab_fail 'pinning is not off by default'
rmmod rsm_ntb || lab_fail 'rmmod rsm_ntb'

insmod /lab/built/rsm_ntb.ko pool_mib=4 pin_mib=4 || lab_fail 'insmod rsm_ntb pin_mib=4'
if [ "$mode" = refused ]; then
    reason=$(dmesg | grep -m 1 'pin_mib is ignored') || lab_fail "the log has no reason: $(dmesg | tail)"
    grep -q 'intel_iommu=on' <<<"$reason" || lab_fail "the reason does not help: $reason"
    echo "result: ${reason#*] }"
    mode=off
fi
"$program" "$mode" || lab_fail "$program $mode"
if dmesg | grep -E -A 50 'WARNING:|BUG:|Oops|refcount_t|possible circular'; then
    lab_fail 'the kernel complained'
fi
for module in rsm_ntb ntb_hw_edu ntb; do
    lab_until 20 rmmod $module || lab_fail "rmmod $module"
done
if dmesg | grep -E -A 50 'WARNING:|BUG:|Oops|refcount_t'; then
    lab_fail 'the kernel complained at the end'
fi
