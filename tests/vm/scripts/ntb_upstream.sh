#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The kernel's own tests of NTB, unmodified, over ntb_hw_ivshmem: what they find says something about
# the lab's bridge, independent of rsm_ntb. On both machines.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

load() {
    insmod "/lab/built/$1.ko" "${@:2}" || lab_fail "insmod $*"
}

# both WORD: wait until both machines are here.
both() {
    lab_note "$1-$LAB_MACHINE"
    lab_await "$1-1"
    lab_await "$1-2"
}

# tool FILE [TEXT]: read or write a file of ntb_tool.
tool() {
    if [ $# -eq 2 ]; then
        echo "$2" >"$debug/$1" || lab_fail "ntb_tool: writing $2 to $1"
    else
        cat "$debug/$1"
    fi
}

tool_says() {
    [ "$(tool "$1")" = "$2" ]
}

mount -t debugfs debugfs /sys/kernel/debug
load ntb
load ntb_hw_ivshmem
device=$(basename "$(echo /sys/bus/ntb/devices/*)")
[ -e "/sys/bus/ntb/devices/$device" ] || lab_fail "there is no NTB device"

# --- ntb_perf: bandwidth of a window, one machine after the other ---
# It allocates a block of the window's size, and never returns if there is none.
load ntb_perf total_order=26 chunk_order=16 max_mw_size=$((2 << 20))
perf_runs() {
    echo 0 2>/dev/null >"$run"
}
run=/sys/kernel/debug/ntb_perf/$device/run
for turn in 1 2; do
    both "perf-$turn"
    [ "$turn" = "$LAB_MACHINE" ] || continue
    lab_until 40 perf_runs || lab_fail "ntb_perf does not run: $(dmesg | grep ntb_perf)"
    grep -q 'MBytes/s' "$run" || lab_fail "ntb_perf: $(cat "$run")"
    grep 'MBytes/s' "$run" | sed 's/^/result: ntb_perf: /'
done
both perf-done
rmmod ntb_perf
both perf-gone

# --- ntb_pingpong: scratchpads and doorbells ---
load ntb_pingpong delay_ms=0
count=/sys/kernel/debug/ntb_pingpong/$device/count
pinged() {
    [ "$(cat "$count")" -ge "$1" ]
}
lab_until 60 pinged 200 || lab_fail "ntb_pingpong: $(cat "$count") rounds only"
before=$(cat "$count")
sleep 1
echo "result: ntb_pingpong: $(($(cat "$count") - before)) rounds in a second"
both pingpong
rmmod ntb_pingpong
both pingpong-gone

# --- ntb_tool: link, scratchpads, doorbells, windows; each machine writes to the other ---
load ntb_tool
debug=/sys/kernel/debug/ntb_tool/$device
peer=$((3 - LAB_MACHINE))
tool db_mask "s 0xff"
tool db "c 0xff" # what ntb_pingpong left
tool link Y
echo 1 >"$debug/peer0/link_event"
tool_says peer0/link Y || lab_fail "ntb_tool: the link is not up"
both tool
tool peer0/spad5 "0x1000$LAB_MACHINE"
lab_until 30 tool_says spad5 "0x1000$peer" || lab_fail "ntb_tool: scratchpad: $(tool spad5)"
tool peer_db "s 0x6"
lab_until 30 tool_says db 0x6 || lab_fail "ntb_tool: doorbells: $(tool db)"
tool db "c 0x2"
tool_says db 0x4 || lab_fail "ntb_tool: doorbells after clear: $(tool db)"
for window in 0 1; do
    tool peer0/mw_trans$window 65536
done
both windows
for window in 0 1; do
    tool peer0/peer_mw_trans$window 0:65536
    tool peer0/peer_mw$window "machine $LAB_MACHINE wrote window $window"
done
both written
for window in 0 1; do
    got=$(head -n 1 "$debug/peer0/mw$window" | tr -d '\0')
    [ "$got" = "machine $peer wrote window $window" ] || lab_fail "ntb_tool: window $window: '$got'"
done
echo "result: ntb_tool: scratchpads, doorbells and two windows carry data"
both tool-done
# ntb_tool forgets its debugfs files before its windows, which crashes the kernel if there are any.
for window in 0 1; do
    tool peer0/peer_mw_trans$window 0:0
    tool peer0/mw_trans$window 0
done
rmmod ntb_tool
both tool-gone

rmmod ntb_hw_ivshmem
rmmod ntb
