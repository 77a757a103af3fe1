#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_pages.sh PROGRAM: in a machine with both ends of a bridge, rsm_ntb0's pool is of pages and rsm_ntb1's of
# device memory: what the rest of the kernel can do with exported memory (tests/vm/ntb/pages.c). Then what operations
# cost with many extents (many.c).
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

export LAB_NTB_HARDWARE=pages=1
lab_ntb pool_mib=4 # the largest block that there is without an IOMMU
insmod /lab/modules/brd.ko rd_nr=1 rd_size=4096 || lab_fail 'insmod brd'
echo '/run/core.%p' >/proc/sys/kernel/core_pattern
ulimit -c unlimited
status=0
"$1" pages || status=$?
[ "$status" -ne 0 ] || "$1" many || status=$?
rmmod brd || lab_fail 'rmmod brd: somebody holds its pages'
lab_ntb_end "$status"
