#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ntb_three.sh RSMD NTB_PEER: three machines in a row, each neighbour by a bridge of its own. The middle one has two
# controllers, ntb0 to machine 1 and ntb1 to machine 3. All export, and use what their neighbours export; then
# machine 3 is killed, of which only what goes through ntb1 learns.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh
# shellcheck source=../guest/ntb_host.sh
. /lab/guest/ntb_host.sh

rsmd=$1
peer=$2

node() {
    printf '[node %s]\nhost = node%s\naddress = %s\n' "$1" "$1" "$2"
}

controller() {
    printf '[controller %s]\ntransport = ntb\ndevice = %s\n' "$1" "$2"
}

# through CONTROLLER COMMAND...: each bridge has a segment of its own.
through() {
    local controller=$1
    shift
    NTB_PEER_CONTROLLER=$controller NTB_PEER_SEGMENT=0x40000${controller#ntb} "$@"
}

# All export before any imports.
everybody_exports() {
    local machine
    lab_note "exporting-$LAB_MACHINE"
    for machine in 1 2 3; do
        lab_await "exporting-$machine" 180
    done
}

case $LAB_MACHINE in
1)
    lab_wire 0 && node 1 10.9.0.1 && node 2 10.9.0.2 && controller ntb0 /dev/rsm_ntb0
    ;;
2)
    lab_wire 0 && lab_wire 1 && node 1 10.9.0.1 && node 2 10.9.0.2 && node 3 10.9.1.3 &&
        controller ntb0 /dev/rsm_ntb0 && controller ntb1 /dev/rsm_ntb1
    ;;
3)
    lab_wire 1 && node 2 10.9.1.2 && node 3 10.9.1.3 && controller ntb1 /dev/rsm_ntb0
    ;;
esac >/run/nodes.conf || lab_fail 'no network'
echo '10.9.1.3 node3' >>/etc/hosts # for munged
ntb_host

controllers=(ntb0 ntb1)
[ "$LAB_MACHINE" -ne 1 ] || controllers=(ntb0)
[ "$LAB_MACHINE" -ne 3 ] || controllers=(ntb1)
exporters=()
for one in "${controllers[@]}"; do
    begin exporting through "$one" "$peer" export /run/enough
    exporters+=("$begun")
done
everybody_exports

case $LAB_MACHINE in
1)
    through ntb0 "$peer" use 2 || lab_fail 'the middle one through ntb0'
    echo "result: node 1 uses node 2 through ntb0"
    lab_note used-1
    lab_await killed 180
    ;;
2)
    through ntb0 "$peer" use 1 || lab_fail 'node 1 through ntb0'
    through ntb1 "$peer" use 3 || lab_fail 'node 3 through ntb1'
    echo "result: node 2 uses node 1 through ntb0 and node 3 through ntb1"
    lab_await used-1 180
    lab_await used-3 180
    begin storing through ntb1 "$peer" fault 3 /run/again /run/done kill 3
    lab_until 90 said_or_ended told
    grep -q '^told' /run/said || lab_fail "not told: $(cat /run/said)"
    touch /run/again /run/done
    wait "$begun" || lab_fail "the importer did not end well: $(cat /run/said)"
    echo "result: node 3 killed: $(paste -sd, /run/said)"
    through ntb0 "$peer" use 1 || lab_fail 'node 1, after the death of node 3'
    echo "result: node 2 uses node 1 all the same"
    lab_note killed
    ;;
3)
    through ntb1 "$peer" use 2 || lab_fail 'the middle one through ntb1'
    echo "result: node 3 uses node 2 through ntb1"
    lab_note used-3
    wait # until the host ends it
    lab_fail 'the exporters ended'
    ;;
esac
touch /run/enough
for one in "${exporters[@]}"; do
    wait "$one" || lab_fail "an exporter: $(cat /run/said)"
done
lab_note "over-$LAB_MACHINE"
lab_await over-1 120
lab_await over-2 120
kill -TERM "$daemon"
wait
lab_ntb_end 0
