#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# links.sh CASE: rsmds of several hosts, which are network namespaces; see hosts.sh.
set -u
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=hosts.sh
. "$here/hosts.sh"
into_namespaces "$0" "$@"

need_munge() {
    command -v munged >/dev/null || skip "there is no munged (Debian package munge)"
}

# Hosts 1 to N, each with the node of its number, a munged with the same key, and rsmd.
cluster() {
    local addresses=() id
    need_munge
    begin
    for id in $(seq "$1"); do
        addresses+=("10.99.0.$id")
    done
    for id in $(seq "$1"); do
        host "$id"
        conf "$id" "${addresses[@]}"
        munged_start "$id" common
        node "$id" "$id"
    done
}

all_up() { # all_up N
    local a b
    for a in $(seq "$1"); do
        for b in $(seq "$1"); do
            [ "$a" -eq "$b" ] || await_up "$a" "$a" "$b"
        done
    done
}

# A cable that is pulled, and all ways in which a daemon can stop answering.
case_faults() {
    cluster 3
    all_up 3
    logged 1 "is up" 2

    cable 3 down
    await_down 1 1 3
    await_down 2 2 3
    await_down 3 3 1
    await_text 1 1 3 "node 3 has not answered node 1"
    state_is 1 1 2 up || fail "the link between the others went down, too"
    cable 3 up
    all_up 3

    node_signal 2 STOP
    await_down 1 1 2
    await_down 3 3 2
    node_signal 2 CONT
    all_up 3

    node_end 1 KILL
    await_down 2 2 1
    await_down 3 3 1
    node 1 1
    all_up 3

    node_end 3
    # In the log: rsmstat shows it until the next attempt, which comes soon.
    await "host 1 learns why node 3 went" grep -q "it says: the daemon of node 3 ends" "$work/1/log"
    await_down 2 2 3
    node 3 3
    all_up 3
    nodes_end
}

# A host that is not there at all, and then is.
case_late() {
    cluster 2
    all_up 2
    node_end 2
    cable 2 down
    await_text 1 1 2 "time" # is over: whoever notices first, TCP or rsmd
    cable 2 up
    node 2 2
    all_up 2
    nodes_end
}

case_keys() {
    need_munge
    begin
    local id
    for id in 1 2; do
        host "$id"
        conf "$id" 10.99.0.1 10.99.0.2
        munged_start "$id" "of-$id"
        node "$id" "$id"
    done
    local differ="node 2 does not accept the credential of node 1: the MUNGE keys of the two hosts"
    await_text 1 1 2 "it says: $differ"
    await_text 2 2 1 "$differ"
    sleep 3 # and many attempts later
    logged 1 "$differ" 1
    logged 2 "$differ" 1
    munged_end 2
    await_text 1 1 2 "MUNGE on the host of node 2 fails"
    munged_start 2 of-1
    all_up 2
    logged 1 "MUNGE on the host of node 2 fails" 1
    nodes_end
}

case_no_munged() {
    need_munge
    begin
    local id
    for id in 1 2; do
        host "$id"
        conf "$id" 10.99.0.1 10.99.0.2
    done
    munged_start 2 common
    node 2 2
    node 1 1
    await_text 1 1 2 "MUNGE on the host of node 1 fails"
    # A caller who has not shown that he is node 1 puts no words of his into the link's state.
    await_text 2 2 1 "its daemon breaks off: the log there says why"
    munged_start 1 common
    all_up 2
    nodes_end
}

# munged is stopped: rsmd waits for it, and still serves its clients.
case_munged_hangs() {
    cluster 2
    all_up 2
    kill -STOP "${munged_pids[1]}"
    node_end 1
    node 1 1
    await_text 2 2 1 "its daemon breaks off: the log there says why"
    await_text 1 1 2 "on the host of node 1"
    local before=$SECONDS
    rsmstat_of 1 1 >/dev/null || fail "rsmd does not serve while munged hangs"
    [ $((SECONDS - before)) -lt 30 ] || fail "rsmd hangs while munged hangs"
    kill -CONT "${munged_pids[1]}"
    all_up 2
    kill -STOP "${munged_pids[1]}" # nor does it wait for munged to end
    nodes_end
    kill -CONT "${munged_pids[1]}"
}

case_clocks() {
    local library
    need_munge
    for library in /usr/lib/*/faketime/libfaketimeMT.so.1; do
        [ -e "$library" ] || skip "there is no libfaketime (Debian package libfaketime)"
    done
    begin
    local id
    for id in 1 2; do
        host "$id"
        conf "$id" 10.99.0.1 10.99.0.2
    done
    munged_start 1 common LD_PRELOAD="$library" FAKETIME=-3h ASAN_OPTIONS=verify_asan_link_order=0
    munged_start 2 common
    node 2 2
    node 1 1
    local behind="node 2 does not accept the credential of node 1: it has expired, its clock being"
    await_text 1 1 2 "$behind 3 hours behind"
    await_text 2 2 1 "$behind 3 hours behind"
    munged_end 1
    munged_start 1 common LD_PRELOAD="$library" FAKETIME=+20m ASAN_OPTIONS=verify_asan_link_order=0
    await_text 1 1 2 "it is from the future, its clock being 20 minutes ahead"
    await_text 2 2 1 "it is from the future, its clock being 20 minutes ahead"
    munged_end 1
    munged_start 1 common
    all_up 2
    nodes_end
}

# A user of a node's host runs an rsmd of his own.
case_users() {
    need_munge
    setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$RSM_RSMD" ||
        skip "other users cannot run $RSM_RSMD"
    begin
    local id
    for id in 1 2; do
        host "$id"
        conf "$id" 10.99.0.1 10.99.0.2
        munged_start "$id" common
    done
    mkdir -m 700 "$work/1/run"
    chown 65534:65534 "$work/1/run"
    node 2 2
    node 1 1 setpriv --reuid 65534 --regid 65534 --clear-groups
    await_text 2 2 1 "it is that of user 65534, who is neither root nor user 0"
    state_is 2 2 1 down || fail "a user has become a node"
    nodes_end
}

# Two daemons with one id, on two hosts that may both have it: its name has the addresses of both.
case_duplicate() {
    need_munge
    begin
    local id
    printf '127.0.0.1 localhost\n10.99.0.1 moving\n10.99.0.3 moving\n' >"$work/hosts"
    mount --bind "$work/hosts" /etc/hosts || skip "cannot mount over /etc/hosts"
    for id in 1 2 3; do
        host "$id"
        munged_start "$id" common
    done
    conf 1 10.99.0.1 10.99.0.2
    conf 2 moving 10.99.0.2
    conf 3 10.99.0.3 10.99.0.2
    node 1 1
    node 2 2
    all_up 2
    node 3 1
    await_text 3 1 2 "it says: two daemons have the id 1: one at 10.99.0.1, one at 10.99.0.3"
    sleep 3
    logged 2 "two daemons have the id 1" 1
    logged 3 "two daemons have the id 1" 1
    logged 2 "is down" 0
    logged 1 "is down" 0
    node_end 1
    await_up 3 1 2
    nodes_end
}

# Root of a third host has the key of the realm, and says that it is node 1.
case_impostor() {
    need_munge
    begin
    local id
    for id in 1 2 3; do
        host "$id"
        conf "$id" 10.99.0.1 10.99.0.2
        munged_start "$id" common
    done
    node 2 2
    node 3 1
    local refused="node 1 calls from 10.99.0.3, but node 2 has 10.99.0.1 (10.99.0.1) as its address"
    await_text 3 1 2 "it says: $refused"
    await_text 2 2 1 "$refused"
    state_is 2 2 1 down || fail "an impostor has become a node"
    sleep 3
    logged 2 "$refused" 1
    node 1 1
    await_up 1 1 2
    await_up 2 2 1
    nodes_end
}

# A host calls from the address of its node, though the way leads through another interface; where
# nothing comes back to that it says from where it calls.
case_homes() {
    need_munge
    begin
    local id
    for id in 1 2; do
        host "$id"
        conf "$id" 10.98.0.1 10.99.0.2
        munged_start "$id" common
    done
    ip -n h1 addr add 10.98.0.1/32 dev lo
    node 2 2
    node 1 1
    await_text 1 1 2 "node 1 calls from 10.99.0.1, but node 2 has 10.98.0.1 (10.98.0.1) as its address"
    ip -n h2 route add 10.98.0.1 via 10.99.0.1
    all_up 2
    nodes_end
}

# The addresses of two nodes are exchanged in one host's file.
case_addresses() {
    cluster 3
    all_up 3
    node_end 1
    conf 1 10.99.0.1 10.99.0.3 10.99.0.2
    node 1 1
    await_text 1 1 2 "node 3 is at the address of node 2"
    await_text 1 1 3 "node 2 is at the address of node 3"
    await_text 2 2 1 "node 2 is at the address of node 3"
    nodes_end
}

# words NUMBER...: each as a little-endian word.
words() {
    local number
    for number in "$@"; do
        printf '%b' "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $((number & 255)) \
            $((number >> 8 & 255)) $((number >> 16 & 255)) $((number >> 24 & 255)))"
    done
}

# A peer that speaks versions 7 to 9, made by hand; and others that speak nothing of the kind.
case_strangers() {
    cluster 2
    all_up 2
    node_end 1
    await_down 2 2 1
    local hello=$work/hello
    { # length, type, magic, versions, from, to, incarnation, nonce
        words 48 1 0x524d5352 7 9 1 2 5 5
        printf '0123456789abcdef'
    } >"$hello"
    local talk='exec 3<>/dev/tcp/10.99.0.2/9247; cat '$hello' >&3; timeout 20 cat <&3'
    ip netns exec h1 bash -c "$talk" >"$work/answer" 2>/dev/null
    local versions="node 1 speaks versions 7 to 9 of the protocol, node 2 1 to 1"
    grep -qaF "$versions" "$work/answer" || fail "the stranger was not told why it was refused"
    await_text 2 2 1 "$versions"
    ip netns exec h1 bash -c "$talk" >/dev/null 2>&1
    logged 2 "$versions" 1
    # Whoever says nothing, or nonsense, holds nobody up.
    for _ in $(seq 100); do
        ip netns exec h1 bash -c 'exec 3<>/dev/tcp/10.99.0.2/9247; sleep 20' 2>/dev/null &
    done
    head -c 200000 /dev/urandom >"$work/noise"
    ip netns exec h1 bash -c "cat $work/noise >/dev/tcp/10.99.0.2/9247" 2>/dev/null
    node 1 1
    all_up 2
    logged 2 "listens at" 1
    nodes_end
}

# A network that delays and loses, and one that loses in one direction alone.
case_loss() {
    need_munge
    [ -c /dev/net/tun ] || skip "there is no /dev/net/tun to make a network that loses packets"
    begin
    local id
    timeout_ms=3000
    for id in 1 2; do
        ip netns add "h$id"
        mkdir -p "$work/$id"
        ip -n "h$id" link set lo up
        conf "$id" 10.99.1.1 10.99.1.2
        munged_start "$id" common
    done
    mkfifo "$work/orders"
    "$RSM_BUILD_DIR/tests/bin/wire" h1 wire0 h2 wire0 "$work/orders" &
    for id in 1 2; do
        await "the wire is there" ip -n "h$id" link set wire0 up
        ip -n "h$id" addr add "10.99.1.$id" peer "10.99.1.$((3 - id))" dev wire0
        node "$id" "$id"
    done
    all_up 2
    echo "40 20 5 5" >"$work/orders"
    node_end 2
    node 2 2
    all_up 2 # with loss, and round trips of 100 ms
    sleep 5
    all_up 2
    echo "0 0 100 100" >"$work/orders"
    await_down 1 1 2
    await_down 2 2 1
    echo "10 0 1 1" >"$work/orders"
    all_up 2
    echo "0 0 100 0" >"$work/orders"
    await_down 1 1 2
    await_down 2 2 1
    echo "0 0 0 0" >"$work/orders"
    all_up 2
    echo "0 0 0 100" >"$work/orders"
    await_down 1 1 2
    await_down 2 2 1
    echo "0 0 0 0" >"$work/orders"
    all_up 2
    short_cuts
    nodes_end
}

# A second is less than the time-out, for what is lost is sent again soon.
short_cuts() {
    local before
    before=$(grep -c "is down" "$work/1/log")
    for _ in 1 2 3; do
        sleep 1
        echo "0 0 100 100" >"$work/orders"
        sleep 1
        echo "0 0 0 0" >"$work/orders"
    done
    sleep 1
    all_up 2
    logged 1 "is down" "$before"
}

case "${1-}" in
faults) case_faults ;;
late) case_late ;;
keys) case_keys ;;
no_munged) case_no_munged ;;
munged_hangs) case_munged_hangs ;;
clocks) case_clocks ;;
users) case_users ;;
duplicate) case_duplicate ;;
impostor) case_impostor ;;
homes) case_homes ;;
addresses) case_addresses ;;
strangers) case_strangers ;;
loss) case_loss ;;
*)
    echo "usage: links.sh CASE" >&2
    exit 2
    ;;
esac
echo "$1: as it should be"
exit 0
