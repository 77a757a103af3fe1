#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# networks.sh [--wire WIRE] COMMAND...: a test whose two hosts (hosts.h) have a network name space each, joined by a pair
# of veth, or by the program WIRE (links/wire.c), which takes orders from the fifo RSM_TEST_WIRE. There is a munged for
# both. All of it is in name spaces of the test's own, processes too: whatever happens to it, nothing is left.
# Where that is impossible, status 77.
set -u

skip() {
    echo "not run: $*"
    exit 77
}

# in_name_spaces COMMAND...: as the same user.
in_name_spaces() {
    if [ "$(id -u)" -eq 0 ]; then
        unshare --mount --net --pid --fork --kill-child --mount-proc "$@"
    else
        unshare --user --map-current-user --keep-caps --mount --net --pid --fork --kill-child --mount-proc "$@"
    fi
}

if [ "${RSM_TEST_NETWORKS-}" != made ]; then
    for tool in ip unshare setpriv munged munge; do
        command -v $tool >/dev/null || skip "there is no $tool (iproute2, util-linux, munge)"
    done
    in_name_spaces true 2>/dev/null || skip "this machine lets this user make no name spaces"
    export RSM_TEST_NETWORKS=made
    in_name_spaces "$0" "$@"
    exit
fi

wire=
if [ "$1" = --wire ]; then
    wire=$2
    shift 2
fi

# await WHAT COMMAND...: until it succeeds, or the test is not run.
await() {
    what=$1
    tries=0
    shift
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 1000 ] || skip "$what"
        sleep 0.01
    done
}

mount -t tmpfs -o mode=755 none /run || skip "cannot mount a tmpfs"
for host in 0 1; do
    ip netns add host$host || skip "cannot make a network name space"
    ip -n host$host link set lo up || exit 1
done
if [ -z "$wire" ]; then
    ip -n host0 link add wire type veth peer name wire netns host1 || skip "this kernel has no veth"
else
    [ -c /dev/net/tun ] || skip "there is no /dev/net/tun"
    export RSM_TEST_WIRE=/run/orders
    mkfifo $RSM_TEST_WIRE || exit 1
    "$wire" host0 wire host1 wire $RSM_TEST_WIRE &
fi
for host in 0 1; do
    await "no device can be made here" ip -n host$host link show wire
    here=10.99.0.$((host + 1)) there=10.99.0.$((2 - host))
    ip -n host$host addr add $here peer $there dev wire || exit 1
    ip -n host$host link set wire up || exit 1
done

mkdir -m 755 /run/munge || exit 1
dd if=/dev/urandom of=/run/munge/key bs=64 count=1 status=none || exit 1
chmod 600 /run/munge/key
munged --foreground --force --num-threads 1 --socket /run/munge/munge.socket.2 --key-file /run/munge/key \
    --pid-file /run/munge/pid --log-file /run/munge/log --seed-file /run/munge/seed >/run/munge/out 2>&1 &
await "munged does not start here" munge --no-input

# The privilege to enter them is all that another user than root keeps.
[ "$(id -u)" -eq 0 ] || set -- setpriv --inh-caps=-all,+sys_admin --ambient-caps=-all,+sys_admin "$@"
export RSM_TEST_NETWORKS=/run/netns/host # 0, 1
"$@"
