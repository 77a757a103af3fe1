#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# litmus.sh RSMD CONF1 CONF2 LITMUS [TEST...]: litmus tests of software mappings between two nodes on
# the two devices.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

lab_two_hosts "$1" "$2" "$3"
shift 3
export RSM_LITMUS_HOSTS=/run/h
"$@"
