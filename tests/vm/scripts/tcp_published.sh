#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# tcp_published.sh RSMD TYPE_DRIVER PROGRAM: the published example program between two machines over TCP.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh
# shellcheck source=../guest/host.sh
. /lab/guest/host.sh
# shellcheck source=../guest/published.sh
. /lab/guest/published.sh

rsmd=$1
umask 022
tcp_host
published "$2" "$3"
kill -TERM "$daemon"
wait "$daemon"
