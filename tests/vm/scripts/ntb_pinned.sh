#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_pinned.sh RSMD PROGRAM: segments that rsmd pins in place (tests/vm/ntb/pinned.c), beyond what the pool has.
# The device edu is the other host: it reaches them until their exporter, or rsmd, has gone.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

rsmd=$1
program=$2
export RSM_NODE=1 RSM_RUNTIME_DIR=/run/rsm

mkdir -p /run/rsm
ip link set lo up
insmod /lab/built/ntb.ko || lab_fail 'insmod ntb'
insmod /lab/built/ntb_hw_edu.ko || lab_fail 'insmod ntb_hw_edu'

# as rsm.conf has it: OPTIONS
configure() {
    printf '[controller sci0]\ntransport = ntb\ndevice = /dev/rsm_ntb0\noptions = %s\n' "$1" >/run/rsm.conf
}

# check TEXT: --check says so, once.
check() {
    "$rsmd" --check --config=/run/rsm.conf >/run/check 2>&1 || lab_fail "rsmd --check: $(cat /run/check)"
    [ "$(grep -c "$1" /run/check)" -eq 1 ] || lab_fail "rsmd --check does not say '$1': $(cat /run/check)"
    echo "result: $(grep "$1" /run/check)"
}

# start [COMMAND...]: rsmd, by that command.
start() {
    rm -f /run/rsm/*
    "$@" "$rsmd" --foreground --config=/run/rsm.conf 2>/run/log &
    daemon=$!
    lab_until 60 test -S /run/rsm/node-1.sock || lab_fail "rsmd does not listen: $(cat /run/log)"
}

# end SIGNAL
end() {
    kill "-$1" "$daemon"
    wait "$daemon"
}

run() {
    RSM_LOG=warning "$program" "$@" || lab_fail "$program $*: $(cat /run/log)"
}

# --- the module has no room: said, and the pool is used as ever ---
configure 'pin=yes'
insmod /lab/built/rsm_ntb.ko pool_mib=16 || lab_fail 'insmod rsm_ntb'
check 'option pin has no effect.*load rsm_ntb with pin_mib=N'
start
grep -q 'option pin has no effect' /run/log || lab_fail "rsmd does not say so: $(cat /run/log)"
end TERM
rmmod rsm_ntb || lab_fail 'rmmod rsm_ntb'

# --- pinned, destroyed, killed ---
insmod /lab/built/rsm_ntb.ko pool_mib=4 pin_mib=12 || lab_fail 'insmod rsm_ntb pin_mib=12'
start
run use "$daemon"

# --- rsmd itself is killed ---
"$program" hold >/run/held &
holder=$!
lab_until 120 grep -qx exporting /run/held || lab_fail "no exporter: $(cat /run/log)"
end KILL
run refused
kill "$holder"
wait "$holder"

# --- the default: the module could, and is not asked ---
configure 'pin=no'
start
run limited "$daemon"
end TERM

# --- rsmd may not pin so much ---
configure 'pin=yes'
ulimit -l 1024
start setpriv --bounding-set=-ipc_lock
run limited "$daemon"
grep -E 'pin' /run/log || lab_fail "the log has no reason: $(cat /run/log)"
end TERM

if dmesg | grep -E -A 50 'WARNING:|BUG:|Oops|refcount_t|possible circular'; then
    lab_fail 'the kernel complained'
fi
for module in rsm_ntb ntb_hw_edu ntb; do
    lab_until 20 rmmod $module || lab_fail "rmmod $module"
done
