#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_published.sh RSMD TYPE_DRIVER PROGRAM: the published example program between two machines with a bridge.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh
# shellcheck source=../guest/ntb_host.sh
. /lab/guest/ntb_host.sh
# shellcheck source=../guest/published.sh
. /lab/guest/published.sh

rsmd=$1
umask 022
ntb_host
published "$2" "$3"
kill -TERM "$daemon"
wait
lab_ntb_end 0
