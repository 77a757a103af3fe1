#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_faults.sh RSMD NTB_PEER: machine 2 stores through a mapping of machine 1's memory while the cable between
# them is pulled out, machine 1 stands still, and is killed, all of which a barrier reports. What was issued,
# vouched for and has landed is counted. The drivers take the other side for dead as early as by default.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh
# shellcheck source=../guest/ntb_host.sh
. /lab/guest/ntb_host.sh

rsmd=$1
peer=$2

# count CASE: export until machine 2 has seen enough; what has landed goes to it.
count() {
    rm -f /run/enough
    begin exporting "$peer" count /run/enough
    lab_note "exported-$1"
}

counted() {
    touch /run/enough
    wait "$begun" || lab_fail "$1: stores of a later session landed: $(cat /run/said)"
    lab_note "landed-$1-$(sed -n 's/^landed \([0-9]*\) .*/\1/p' /run/said)"
}

# noted WORD: wait for it without a pause.
noted() {
    until grep -qx "$1" /run/notes; do :; done
}

# fault CASE ORDER...: store, give that order, be told. What a stalled machine ends before the order counts
# for nothing.
fault() {
    local attempt status case=$1
    shift
    lab_await "exported-$case" 120
    rm -f /run/again /run/enough
    for attempt in 1 2 3 4 5; do
        begin storing "$peer" fault 1 /run/again /run/enough "$@"
        lab_until 90 said_or_ended told
        grep -q early /run/said || break
        status=0
        wait "$begun" || status=$?
        [ "$status" -eq 3 ] || lab_fail "$case: status $status: $(cat /run/said)"
        echo "$case: attempt $attempt: the session ended before anything was done to it"
    done
    read -r _ error _ ms _ issued _ vouched <<<"$(grep '^told' /run/said)"
    [ "$vouched" ] || lab_fail "not told of $case: $(cat /run/said)"
}

# After the connection works again, with the old mapping alive.
judge() {
    local landed
    "$peer" reach 1 || lab_fail "$1: no connection afterwards"
    touch /run/again
    sleep 0.5 # of stores through the old mapping in the new session
    touch /run/enough
    wait "$begun" || lab_fail "the importer did not end well after $1: $(cat /run/said)"
    later=$(sed -n 's/ stores later//p' /run/said)
    lab_note "count-$1"
    lab_until 90 grep -q "^landed-$1-" /run/notes || lab_fail "$1: what has landed is not known"
    landed=$(sed -n "s/^landed-$1-//p" /run/notes)
    [ "$landed" -ge "$vouched" ] || lab_fail "$1: a barrier vouched for $vouched, $landed landed"
    [ "$landed" -le "$issued" ] || lab_fail "$1: $landed landed of $issued"
    echo "result: $1: told (error $error) $ms ms after the order; stores: $issued issued, $vouched vouched" \
        "for, $landed landed; 0 of $later in the next session landed"
}

ntb_host
plugged=$(echo /sys/bus/pci/drivers/ntb_hw_ivshmem/0000*/plugged)
if [ "$LAB_MACHINE" -eq 1 ]; then
    count unplugged
    noted cut
    echo 0 >"$plugged"
    lab_await join 120
    echo 1 >"$plugged"
    lab_await count-unplugged 120
    counted unplugged
    count frozen
    lab_await count-frozen 240
    counted frozen
    count killed
    wait # until the host ends it
    lab_fail 'the exporter ended'
fi
fault unplugged note cut
lab_note join
judge unplugged
fault frozen freeze 1
lab_machine thaw 1
judge frozen
fault killed kill 1
touch /run/again /run/enough
wait "$begun" || lab_fail "the importer did not end well: $(cat /run/said)"
echo "result: killed: told (error $error) $ms ms after the order; stores: $issued issued, $vouched vouched for"
kill -TERM "$daemon"
wait
lab_ntb_end 0
