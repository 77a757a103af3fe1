#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_conformance.sh CONFORMANCE CONF [ARGUMENTS]: the suite between two machines with a bridge.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh
# shellcheck source=../guest/sides.sh
. /lab/guest/sides.sh

ip link set lo up
lab_wire 0 || lab_fail 'no network'
lab_ntb
lab_until 60 test -c /dev/rsm_ntb0 || lab_fail "there is no bridge: $(dmesg | tail)"
both_sides "$@"
lab_ntb_end 0
