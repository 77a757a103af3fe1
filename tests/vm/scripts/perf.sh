#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# perf.sh RSMD RSMPERF CONF1 CONF2 [ARGUMENTS]: rsmperf between two nodes on the two devices, beside
# perftest on the same ones. Says whether it ran; what is fast enough is not for an emulated machine
# to say. LAB_PERFTEST are further arguments of perftest.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

rsmd=$1
rsmperf=$2
lab_two_hosts "$rsmd" "$3" "$4"
shift 4

export RSM_LOG=warning # why a connection was lost, if one is
# The importer keeps to the other processor: two that poll on one see each other a turn later.
RSM_NODE=1 taskset 2 "$rsmperf" --serve -d /run/h1 &
# Of little memory: what is asked for here the daemons keep on having ready.
reached() {
    RSM_NODE=2 "$rsmperf" --node 1 -d /run/h2 -s 8 -o put64 -t 1 >/run/first 2>&1
}
lab_until 120 reached || lab_fail "no connection: $(cat /run/first)"
set -o pipefail
RSM_NODE=2 "$rsmperf" --node 1 -d /run/h2 --limit-device rxe1,rxe2 \
    --limit-args "-x $(lab_gid rxe1) ${LAB_PERFTEST-}" "$@" 2>/run/progress | tee /run/table ||
    lab_fail "$(cat /run/progress)"
compared=no
for pair in pingpong:ib_write_lat get:ib_read_lat put-stream:ib_write_bw sci-dma-queue:ib_write_bw; do
    grep -q "^${pair%:*} " /run/table || continue # not asked for
    grep "^${pair%:*} " /run/table | grep -q "${pair#*:}" ||
        lab_fail "${pair%:*} was not measured beside ${pair#*:}"
    compared=yes
done
[ $compared = yes ] || lab_fail "nothing was measured beside perftest"
