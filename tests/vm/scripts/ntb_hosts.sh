#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_hosts.sh RSMD RSMTEST NTB_PEER: librsm between two machines with a bridge. Machine 1 exports, machine 2
# imports and has done to machine 1's processes, and at last to machine 1, what they must live with.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh
# shellcheck source=../guest/ntb_host.sh
. /lab/guest/ntb_host.sh

rsmd=$1
rsmtest=$2
peer=$3
export_segment() {
    rm -f /run/enough
    begin exporting "$peer" export /run/enough
    exporter=$begun
    lab_note "$1"
}

# lose WORD: store while machine 1 does that, and be told. What is stored later hurts nobody.
lose() {
    rm -f /run/enough
    begin storing "$peer" store 1 /run/enough
    if [ "$1" = restart ]; then
        lab_machine restart 1
    else
        lab_note "$1"
    fi
    lab_until 60 said_or_ended told
    grep -q told /run/said || lab_fail "not told of $1: $(cat /run/said)"
    lab_await "after-$1" 120
}

# Machine 1 has seen that what it exports now is as it was.
lost() {
    touch /run/enough
    wait "$begun" || lab_fail "the importer did not end well after $1: $(cat /run/said)"
    echo "result: $1: $(paste -sd, /run/said)"
    "$peer" use 1 || lab_fail "it does not work again after $1"
}

ntb_host
# While a daemon has the bridge, too; only that no IOMMU translates is worth a warning.
"$rsmd" --check --config=/run/rsm.conf >/run/check 2>&1 || lab_fail "rsmd --check: $(cat /run/check)"
grep -q 'leave out' /run/check && lab_fail "rsmd --check: $(cat /run/check)"

if [ "$LAB_MACHINE" -eq 1 ] && [ "$LAB_LIFE" -eq 1 ]; then
    timeout 120 "$rsmtest" -e -n 2 -c 20 || lab_fail 'rsmtest'
    "$peer" own 1 || lab_fail 'an import on the own host'
    export_segment exported
    lab_await kill-exporter 120
    kill -KILL "$exporter"
    export_segment after-kill-exporter
    lab_await kill-rsmd 120
    kill -KILL "$daemon"
    kill -KILL "$exporter"
    rm -f "/run/rsm/node-1.sock"
    start_rsmd
    export_segment after-kill-rsmd
    wait # until the host ends it
    lab_fail 'the exporter ended'
elif [ "$LAB_MACHINE" -eq 1 ]; then
    export_segment after-restart
    lab_await stored 120
    touch /run/enough
    wait "$exporter" || lab_fail "the new incarnation: $(cat /run/said)"
    echo "result: restarted: $(paste -sd, /run/said)"
    export_segment checked
    lab_await over 120
else
    lab_until 90 "$rsmtest" -i -n 1 -t 1 -C -c 20 || lab_fail 'rsmtest'
    echo "result: rsmtest: 20 messages through the bridge"
    lab_await exported 120
    for what in kill-exporter kill-rsmd restart; do
        lose "$what"
        if [ "$what" = restart ]; then
            sleep 1 # of stores through the old mapping
            lab_note stored
            lab_await checked 120
        fi
        lost "$what"
    done
    # The importer's own daemon; the next one takes its imports away.
    rm -f /run/enough
    begin storing "$peer" store 1 /run/enough
    kill -KILL "$daemon"
    rm -f "/run/rsm/node-2.sock"
    start_rsmd
    lab_until 60 said_or_ended told
    grep -q told /run/said || lab_fail "not told of its own daemon's death: $(cat /run/said)"
    lost own-rsmd
    lab_note over
fi
kill -TERM "$daemon" "$exporter" 2>/dev/null
wait
lab_ntb_end 0
