#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# tcp_conformance.sh CONFORMANCE CONF [ARGUMENTS]: a suite between two machines over TCP.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh
# shellcheck source=../guest/sides.sh
. /lab/guest/sides.sh

ip link set lo up
lab_wire 0 || lab_fail 'no network'
both_sides "$@"
