#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_driver.sh PROGRAM [hostile]: rsm_ntb between two machines, without librsm (tests/vm/ntb/driver.c), or
# between one and a process on the host that lies (hostile.c, hostile_peer.py).
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

pool=()
[ $# -eq 1 ] || pool=(pool_mib=4) # of which a block of pages could be had, if the bridge could map it
lab_ntb "${pool[@]}"
status=0
[ $# -eq 2 ] || set -- "$1" "$LAB_MACHINE" "$LAB_LIFE"
"$@" || status=$?
lab_ntb_end "$status"
