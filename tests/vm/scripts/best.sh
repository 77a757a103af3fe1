#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# best.sh RSMD RSMSTAT PEER: two machines with the same rsm.conf, whose controller is on the best transport. While both have
# a soft-RoCE device, connections take verbs, in both directions. When machine 2 has none any more, they take tcp.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh
# shellcheck source=../guest/host.sh
. /lab/guest/host.sh

rsmd=$1
rsmstat=$2 peer=$3
other=$((3 - LAB_MACHINE))

stat() {
    "$rsmstat" --runtime-dir /run/rsm --node "$LAB_MACHINE" "$@"
}

# carried TRANSPORT: whether this machine's import from the other one is, by the table's columns FROM, BY and TRANSPORT.
carried() {
    stat --imports --wide | awk -v from="$other" -v by="$LAB_MACHINE" -v wanted="$1" '
        /IMPORTED/ { for (i = 1; i <= NF; i++) column[$i] = i; next }
        $column["FROM"] == from && $column["BY"] == by && $column["STATE"] == "connected" {
            rows++
            right += $column["TRANSPORT"] == wanted
        }
        END { exit !(rows == 1 && right == 1) }'
}

# take TRANSPORT ROUND: use the other machine's segment, while it uses this one's.
take() {
    begin exporting "$peer" export
    local exporter=$begun
    lab_note "$2-exports-$LAB_MACHINE"
    lab_await "$2-exports-$other" 120
    "$peer" use "$other" || lab_fail "$2: it does not work"
    begin putting "$peer" until-lost "$other"
    lab_until 30 carried "$1" || lab_fail "$2: not by $1: $(stat --imports --wide)"
    echo "result: machine $LAB_MACHINE from machine $other: $(stat --imports --wide | awk 'NR > 1' | grep -w "$1" | head -n 1)"
    lab_note "$2-seen-$LAB_MACHINE"
    lab_await "$2-seen-$other" 120
    kill "$begun" "$exporter"
    wait "$begun" "$exporter"
    lab_note "$2-over-$LAB_MACHINE"
    lab_await "$2-over-$other" 120
}

wire_conf >/run/rsm.conf <<'END'
[controller sci0]
transport = best
options = verbs.timeout=6000
[limits]
peer-timeout-ms = 6000
END
lab_munged
start_rsmd
take verbs both
if [ "$LAB_MACHINE" -eq 2 ]; then
    kill -TERM "$daemon"
    wait "$daemon"
    rdma link delete rxe2
    start_rsmd
fi
take tcp one
kill -TERM "$daemon"
wait "$daemon" || lab_fail "rsmd: status $?"
