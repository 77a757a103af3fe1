#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_program.sh COMMAND [ARGUMENTS]: run it in a machine that has both ends of a bridge, /dev/rsm_ntb0 and
# /dev/rsm_ntb1. That it would skip is a failure.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

ip link set lo up
lab_ntb
lab_until 60 test -c /dev/rsm_ntb1 || lab_fail "there is no second end: $(dmesg | tail)"
status=0
"$@" || status=$?
[ $status -ne 77 ] || lab_fail "$1 was skipped"
lab_ntb_end "$status"
