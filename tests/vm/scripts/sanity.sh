#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Real verbs without librsm: the two devices are there and carry reliable connections both ways, made
# by hand and by rdma_cm. What fails here is the lab, not librsm.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

seen() {
    [[ $(ibv_devices) == *"$1"* ]] || lab_fail "ibv_devices does not show $1"
}

listening() {
    ss -Hltn "sport = :$1" | grep -q .
}

managed() {
    rdma resource show cm_id | grep -q 'state LISTEN'
}

# serve DEVICE: wait for one client of each kind.
serve() {
    ibv_rc_pingpong -e -n 200 -d "$1" -g "$(lab_gid "$1")" -p 18515 >"/run/pingpong.$1" 2>&1 &
    pingpong=$!
    rping -s -a "10.9.0.${1#rxe}" -C 20 -v >"/run/rping.$1" 2>&1 &
    rping=$!
    lab_until 60 listening 18515 || lab_fail "ibv_rc_pingpong does not listen"
    lab_until 60 managed || lab_fail "rping does not listen"
}

served() {
    wait "$pingpong" || lab_fail "ibv_rc_pingpong on $1: $(cat "/run/pingpong.$1")"
    wait "$rping" || lab_fail "rping on $1: $(cat "/run/rping.$1")"
    grep -q 'iters' "/run/pingpong.$1" || lab_fail "ibv_rc_pingpong said nothing on $1"
}

# use DEVICE SERVER HOST: be that client.
use() {
    timeout 80 ibv_rc_pingpong -e -n 200 -d "$1" -g "$(lab_gid "$1")" -p 18515 "$3" ||
        lab_fail "ibv_rc_pingpong from $1"
    timeout 80 rping -c -a "10.9.0.${2#rxe}" -I "10.9.0.${1#rxe}" -C 20 ||
        lab_fail "rping from $1"
}

received() {
    cat /sys/class/net/v2/statistics/rx_packets
}

if [ "$LAB_MACHINES" -eq 1 ]; then
    seen rxe1
    seen rxe2
    before=$(received)
    for pair in 'rxe1 rxe2' 'rxe2 rxe1'; do
        serve "${pair% *}"
        use "${pair#* }" "${pair% *}" 127.0.0.1
        served "${pair% *}"
    done
    # 200 rounds each way: they went over the veth pair, not inside a device.
    [ $(($(received) - before)) -ge 400 ] || lab_fail 'traffic did not go over the wire'
    exit 0
fi

seen "rxe$LAB_MACHINE"
for server in 1 2; do
    if [ "$LAB_MACHINE" -eq $server ]; then
        serve "rxe$server"
        lab_note "serving-$server"
        served "rxe$server"
        lab_note "served-$server"
    else
        lab_await "serving-$server"
        use "rxe$LAB_MACHINE" "rxe$server" "10.9.0.$server"
        lab_await "served-$server"
    fi
done
