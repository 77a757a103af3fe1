#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_perf.sh RSMD NTB_BENCH RSMPERF CONF0 CONF1: in one machine with both ends of a bridge, what put, get and barriers cost
# beside bare loads and stores through the same window; and rsmperf's posts. Fails if something cannot be
# measured, not for its figures.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

rsmd=$1
bench=$2
rsmperf=$3
ip link set lo up
lab_ntb
lab_until 60 test -c /dev/rsm_ntb1 || lab_fail "there is no second end: $(dmesg | tail)"
lab_two_hosts "$rsmd" "$4" "$5"
export RSM_LOG=warning
RSM_NODE=1 RSM_RUNTIME_DIR=/run/h1 "$bench" export /run/enough &
exporter=$!
RSM_NODE=2 RSM_RUNTIME_DIR=/run/h2 timeout 200 "$bench" 1 >/run/table
cat /run/table
[ "$(grep -c '^result: .*ratio' /run/table)" -eq 9 ] || lab_fail 'not everything was measured'
touch /run/enough
wait "$exporter" || lab_fail 'the exporter did not end well'
RSM_NODE=1 taskset 2 "$rsmperf" --serve -d /run/h1 &
server=$!
reached() {
    RSM_NODE=2 "$rsmperf" --node 1 -d /run/h2 -s 8 -o put64 -t 1 >/run/first 2>&1
}
lab_until 120 reached || lab_fail "no connection: $(cat /run/first)"
RSM_NODE=2 timeout 120 "$rsmperf" --node 1 -d /run/h2 -s 8 -o post-spin,post-sleep,barrier -t 100 >/run/posts 2>/run/progress ||
    lab_fail "rsmperf: $(cat /run/progress)"
sed 's/^/result: rsmperf: /' /run/posts
kill -TERM $server
wait $server
# shellcheck disable=SC2046 # words
kill -TERM $(jobs -p)
wait
lab_ntb_end 0
