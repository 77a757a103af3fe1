#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# deaf.sh RSMD CONF: a device whose connection manager the kernel has lost. rsmd says so when the
# link comes back and when it starts, and no longer once the device was made anew.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

rsmd=$1
export RSM_NODE=2 RSM_RUNTIME_DIR=/run/rsm
complaint="device rxe2 port 1: the kernel's queue pair for connection requests has failed"
mkdir -p /run/rsm

# start_rsmd LOG
start_rsmd() {
    "$rsmd" --foreground --config=/run/rsm.conf --node=2 >"$1" 2>&1 &
    daemon=$!
    lab_until 30 test -S /run/rsm/node-2.sock || lab_fail "rsmd does not listen: $(cat "$1")"
}

end_rsmd() {
    kill "$daemon"
    wait "$daemon"
}

complained() {
    grep -q "$complaint" "$1"
}

# manages STATE: whether rping has a connection, or a listener, in that state.
manages() {
    rdma resource show cm_id | grep "comm rping" | grep -q "state $1"
}

connect() {
    timeout 60 rping -c -a 10.9.0.1 -I 10.9.0.2 -C 3
}

failed() {
    rdma resource show qp | grep -q '^link rxe2/1 .* type GSI state ERR '
}

printf '[node 2]\nhost = host2\n' | cat - "$2" >/run/rsm.conf
start_rsmd /run/first.log
rping -s -P -a 10.9.0.1 >/dev/null 2>&1 &
lab_until 60 manages LISTEN || lab_fail 'rping does not listen'
connect || lab_fail 'no connection before'
rping -c -a 10.9.0.1 -I 10.9.0.2 >/dev/null 2>&1 &
client=$!
lab_until 60 manages CONNECT || lab_fail 'no second connection'
ip link set v2 down
kill -9 $client # the kernel tells the peer, and cannot
lab_until 20 failed || lab_skip 'this kernel does not lose the queue pair'
! complained /run/first.log || lab_fail 'rsmd complains before the link is back'
lab_link_up
lab_until 30 complained /run/first.log || lab_fail "rsmd does not complain: $(cat /run/first.log)"
end_rsmd

start_rsmd /run/second.log
complained /run/second.log || lab_fail "rsmd does not complain at its start: $(cat /run/second.log)"
end_rsmd

rdma link delete rxe2
rdma link add rxe2 type rxe netdev v2
lab_until 20 lab_gid rxe2 >/dev/null || lab_fail 'the new device has no address'
start_rsmd /run/third.log
! complained /run/third.log || lab_fail 'rsmd complains about the new device'
connect || lab_fail 'no connection over the new device'
end_rsmd
