#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_perf.sh RSMD NTB_BENCH RSMPERF CONF0 CONF1: in one machine with both ends of a bridge, what put, get and barriers cost
# beside bare loads and stores through the same window; and rsmperf's posts, beside the rounds of the kernel's
# ntb_pingpong and the bandwidth of its ntb_perf between the same two ends. Fails if something cannot be measured, not
# for its figures.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

rsmd=$1
bench=$2
rsmperf=$3
conf1=$4
conf2=$5
ip link set lo up

# The kernel's own: their clients bind to both ends, and go again.
mount -t debugfs debugfs /sys/kernel/debug
for module in ntb ntb_hw_ivshmem 'ntb_pingpong delay_ms=0'; do
    # shellcheck disable=SC2086 # words
    set -- $module
    insmod "/lab/built/$1.ko" "${@:2}" || lab_fail "insmod $module"
done
rounds=$(find /sys/kernel/debug/ntb_pingpong -name count | head -n 1)
pinged() {
    [ "$(cat "$rounds")" -ge "$1" ]
}
lab_until 60 pinged 100 || lab_fail "ntb_pingpong: $(cat "$rounds") rounds only"
before=$(cat "$rounds") from=${EPOCHREALTIME/./}
sleep 2
after=$(cat "$rounds") to=${EPOCHREALTIME/./}
echo "result: ntb_pingpong: $(((to - from) / (after - before))) us from doorbell to doorbell of one end"
rmmod ntb_pingpong
# Copies, by the processor; it never returns if there is no block of memory of the window's size.
insmod /lab/built/ntb_perf.ko total_order=26 chunk_order=20 max_mw_size=$((2 << 20)) || lab_fail 'insmod ntb_perf'
run=$(find /sys/kernel/debug/ntb_perf -name run | head -n 1)
perf_runs() {
    echo 0 2>/dev/null >"$run"
}
lab_until 60 perf_runs || lab_fail "ntb_perf does not run: $(dmesg | grep ntb_perf)"
grep 'MBytes/s' "$run" | sed 's/^/result: ntb_perf, 1 MiB at a time: /'
grep -q 'MBytes/s' "$run" || lab_fail "ntb_perf: $(cat "$run")"
rmmod ntb_perf ntb_hw_ivshmem ntb
umount /sys/kernel/debug

lab_ntb
lab_until 60 test -c /dev/rsm_ntb1 || lab_fail "there is no second end: $(dmesg | tail)"
lab_two_hosts "$rsmd" "$conf1" "$conf2"
export RSM_LOG=warning
RSM_NODE=1 RSM_RUNTIME_DIR=/run/h1 "$bench" export /run/enough &
exporter=$!
RSM_NODE=2 RSM_RUNTIME_DIR=/run/h2 timeout 200 "$bench" 1 >/run/table
cat /run/table
[ "$(grep -c '^result: .*ratio' /run/table)" -eq 9 ] || lab_fail 'not everything was measured'
touch /run/enough
wait "$exporter" || lab_fail 'the exporter did not end well'
reached() {
    RSM_NODE=2 "$rsmperf" --node 1 -d /run/h2 -s 8 -o put64 -t 1 >/run/first 2>&1
}
# posts LABEL: of an importer to an exporter that spins, and to one that sleeps.
posts() {
    RSM_NODE=1 taskset 2 "$rsmperf" --serve -d /run/h1 &
    local server=$!
    lab_until 120 reached || lab_fail "no connection: $(cat /run/first)"
    RSM_NODE=2 timeout 120 "$rsmperf" --node 1 -d /run/h2 -s 8 -o post-spin,post-sleep,barrier -t 100 >/run/posts \
        2>/run/progress || lab_fail "rsmperf: $(cat /run/progress)"
    sed "s/^/result: rsmperf, $1: /" /run/posts
    kill -TERM $server
    wait $server
    # shellcheck disable=SC2046 # words
    kill -TERM $(jobs -p)
    wait
}
posts doorbell
for node in 1 2; do
    conf=conf$node
    rm -rf "/run/h$node"
    sed '/^device/a options = doorbell=no' "${!conf}" >"/run/link$node.conf"
done
lab_two_hosts "$rsmd" /run/link1.conf /run/link2.conf
posts 'link of the daemons'
lab_ntb_end 0
