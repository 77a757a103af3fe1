#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# For owners of two hosts with a non-transparent bridge: what librsm moves over it, beside the kernel's ntb_perf, and
# whether the devices report errors meanwhile. doc/ntb.md says how to use it.
set -u

usage() {
    cat <<END
Usage: ntb_hardware.sh show            the bridge, the IOMMU, the modules and their messages
       ntb_hardware.sh serve           on one host: be the far side of measure, until interrupted
       ntb_hardware.sh measure NODE    on the other host: rsmperf against the node of the first
       ntb_hardware.sh upstream        on both hosts at once, without rsmd: the kernel's ntb_perf instead of
                                       rsm_ntb, then rsm_ntb again
All but serve and measure need root.
END
    exit 2
}

# Errors that the kernel has logged of PCIe devices so far.
errors() {
    dmesg 2>/dev/null | grep -cE 'AER:|PCIe Bus Error|DPC:'
}

show() {
    local device
    lspci -nn | grep -iE 'non-transparent|0680|ntb|switchtec' || echo 'lspci names no non-transparent bridge'
    for device in /sys/bus/ntb/devices/*; do
        [ -e "$device" ] || continue
        echo "ntb device: $(basename "$device"), driver $(basename "$(readlink -f "$device/driver")")"
        lspci -vv -s "$(basename "$device")" 2>/dev/null | grep -E 'LnkSta:|Region|UESta|DevSta'
    done
    if [ -n "$(ls -A /sys/class/iommu 2>/dev/null)" ]; then
        echo "IOMMU: $(ls /sys/class/iommu)"
    else
        echo 'IOMMU: none is enabled'
    fi
    ls -l /dev/rsm_ntb* 2>/dev/null || echo 'no /dev/rsm_ntb*'
    if [ -r /sys/module/rsm_ntb/parameters/refused ]; then
        sed 's/^./refused: &/' /sys/module/rsm_ntb/parameters/refused
    fi
    dmesg | grep -E 'ntb' | tail -n 20
}

measure() {
    local before
    before=$(errors)
    rsmperf --node "$1" -s 8,4K,64K,1M,16M -o put,get,put-stream,put64,get64,barrier,order,post-spin,post-sleep || exit 1
    echo "PCIe errors logged meanwhile: $(($(errors) - before))"
}

# ntb_perf copies through the window by the processor, as librsm does.
upstream() {
    local run=/sys/kernel/debug/ntb_perf status=1 wait
    [ "$(id -u)" -eq 0 ] || usage
    rmmod rsm_ntb || { echo 'rsm_ntb is in use: end rsmd and what maps segments' >&2; exit 1; }
    if modprobe ntb_perf total_order=30; then
        for ((wait = 0; wait < 60 && status != 0; wait++)); do
            sleep 1
            if echo 0 >"$(echo $run/*/run)" 2>/dev/null; then
                cat $run/*/run
                status=0
            fi
        done
        [ $status -eq 0 ] || echo 'ntb_perf has met no other host within a minute' >&2
        rmmod ntb_perf
    fi
    modprobe rsm_ntb
    return $status
}

case ${1-} in
show) show ;;
serve) exec rsmperf --serve ;;
measure) [ $# -eq 2 ] || usage; measure "$2" ;;
upstream) upstream ;;
*) usage ;;
esac
