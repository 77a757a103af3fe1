#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# guest.sh WAY: ends, or does not end, in one of the ways that the lab must tell apart.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

# tell VALUE: to the exit device behind the lab's back.
tell() {
    printf '%b' "$1" | dd of=/dev/port bs=1 seek=244 conv=notrunc 2>/dev/null
}

case $1 in
success) exit 0 ;;
one) exit 1 ;;
skip) lab_skip 'the script does not want to' ;;
hang) sleep 100000 ;;
panic) echo c >/proc/sysrq-trigger ;;
off) poweroff -f ;;
exit-device-only) tell '\x15' ;;
words-only)
    echo "lab: status $(sed -n 's/.*lab\.nonce=\([^ ]*\).*/\1/p' /proc/cmdline) 0" >/dev/ttyS0
    poweroff -f
    ;;
second-waits)
    [ "$LAB_MACHINE" -eq 1 ] || sleep 100000
    exit 3
    ;;
both-killed)
    [ "$LAB_MACHINE" -eq 1 ] || sleep 100000
    lab_machine kill 2
    lab_machine kill 1
    sleep 100000
    ;;
as-wanted)
    [ "$LAB_MACHINE" -eq 1 ] || sleep 100000
    lab_until 60 ping -c 1 -W 5 10.9.0.2 || lab_fail 'no answer before'
    lab_machine freeze 2
    ping -c 2 -W 2 10.9.0.2 && lab_fail 'a frozen machine answered'
    lab_machine thaw 2
    lab_until 30 ping -c 1 -W 5 10.9.0.2 || lab_fail 'no answer after'
    lab_machine unplug 2
    ping -c 2 -W 2 10.9.0.2 && lab_fail 'a machine without a cable answered'
    lab_machine plug 2
    lab_until 30 ping -c 1 -W 5 10.9.0.2 || lab_fail 'no answer with the cable back'
    lab_machine kill 2
    ;;
esac
