#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# members.sh CASE: nodes that no section of rsm.conf names, on several hosts; see hosts.sh.
set -u
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=hosts.sh
. "$here/hosts.sh"
into_namespaces "$0" "$@"
command -v munged >/dev/null || skip "there is no munged (Debian package munge)"

# member_host N SOURCE [KEY]: host N, whose nodes come from SOURCE; KEY is one more line of [cluster].
member_host() {
    host "$1"
    printf '[limits]\npeer-timeout-ms = %s\n[cluster]\nmunge-socket = %s\nnodes = %s\n%s\n' \
        "$timeout_ms" "$work/$1/munge/socket" "$2" "${3-}" >"$work/$1/rsm.conf"
    printf '[controller sci0]\ntransport = peek\n[controller here0]\ntransport = shm\n' >>"$work/$1/rsm.conf"
    munged_start "$1" common
}

reload() { # reload HOST...
    local host
    for host; do
        node_signal "$host" HUP
    done
}

says() { # says HOST TEXT: in its log, soon
    await "host $1 says: $2" grep -q -e "$2" "$work/$1/log"
}

# what is printed by the program, one member after the other
list() {
    printf '%s\n' "$@" >"$work/list.new"
    mv "$work/list.new" "$work/list"
}

case_program() {
    begin
    list "1 - 10.99.0.1" "2 - 10.99.0.2"
    printf '#!/bin/sh\ncat %s/list\n[ ! -f %s/oh ] || { echo oh >&2; exit 5; }\n[ ! -f %s/hang ] || exec sleep 1000\n' \
        "$work" "$work" "$work" >"$work/who"
    chmod 755 "$work/who"
    local id
    for id in 1 2 3; do
        member_host "$id" "exec:$work/who"
    done
    node 1 1
    node 2 2
    await_up 1 1 2
    await_up 2 2 1

    # One comes.
    list "1 - 10.99.0.1" "2 - 10.99.0.2" "3 - 10.99.0.3"
    node 3 3
    reload 1 2
    await_up 1 1 3
    await_up 2 2 3
    await_up 3 3 1

    # One goes, and what is up stays up.
    list "1 - 10.99.0.1" "2 - 10.99.0.2"
    reload 1
    says 1 "node 3 is not there any more"
    state_is 1 1 3 up || fail "a name that has gone has ended a link"

    # What is wrong changes nothing.
    list "1 - 10.99.0.1" "2 - 10.99.0.1"
    reload 1
    says 1 "the members stay as they are: expected another address or port"
    list "1 - 10.99.0.1" "what"
    reload 1
    says 1 "the members stay as they are: exec:.*: line 2: expected ID HOST ADDRESS"
    touch "$work/oh"
    reload 1
    says 1 "it ended with status 5: oh"
    state_is 1 1 2 up || fail "a program that fails has ended a link"

    # One that hangs: others are served meanwhile.
    rm "$work/oh"
    touch "$work/hang"
    reload 1
    state_is 1 1 2 up || fail "rsmd waits for the program"
    says 1 "it has not ended within 10 s"

    # A successor does not wait for it.
    local before=$SECONDS
    node_signal 1 USR2
    says 1 "node 1 goes on in"
    await "host 1 serves" rsmstat_of 1 1 --links
    await_up 1 1 2
    [ $((SECONDS - before)) -lt 8 ] || fail "a successor waits for the program"
    rm "$work/hang"

    # A start while there is no answer: the members are those of the last time.
    touch "$work/oh"
    node_end 1
    node 1 1
    says 1 "the members are those of the last time"
    await_up 1 1 2
    await_up 2 2 1
    rm "$work/oh"

    # One comes back elsewhere.
    node_end 2
    ip -n h2 addr del 10.99.0.2/24 dev eth0
    ip -n h2 addr add 10.99.0.22/24 dev eth0
    list "1 - 10.99.0.1" "2 - 10.99.0.22" "3 - 10.99.0.3"
    await_down 1 1 2
    reload 1 3
    says 1 "node 2 is at 10.99.0.22"
    node 2 2
    await_up 1 1 2
    await_up 2 2 1
    await_up 3 3 2
    nodes_end
}

# The names of the records, by a DNS server on host 9.
records() {
    local line
    for line in "$@"; do
        echo "$line"
    done >"$work/names.new"
    mv "$work/names.new" "$work/names"
}

name_server() {
    host 9
    echo "nameserver 10.99.0.9" >"$work/resolv.conf"
    mount --bind "$work/resolv.conf" /etc/resolv.conf || skip "cannot mount over /etc/resolv.conf"
    records silent
    ip netns exec h9 "$RSM_BUILD_DIR/tests/bin/names" "$work/names" &
}

case_dns() {
    begin
    name_server
    local both=("SRV _rsm._tcp.test 1 9247 node1.test" "A node1.test 1 10.99.0.1"
        "SRV _rsm._tcp.test 1 9247 node2.test" "A node2.test 1 10.99.0.2")
    local third=("SRV _rsm._tcp.test 1 9247 node3.test" "A node3.test 1 10.99.0.3")
    local id
    records "${both[@]}"
    for id in 1 2 3; do
        member_host "$id" dns:_rsm._tcp.test
    done
    own_node 1
    own_node 2
    await_up 1 1 2
    await_up 2 2 1
    ip netns exec h1 "$RSM_RSMD" --check --config "$work/1/rsm.conf" |
        grep -q '^dns:_rsm._tcp.test: nodes: 2$' || fail "rsmd --check does not say what the names are"

    # They are asked again and again.
    records "${both[@]}" "${third[@]}"
    own_node 3
    await_up 1 1 3
    await_up 2 2 3

    # Whatever the server does now, nothing ends.
    records damaged "${both[@]}"
    says 1 "the members stay as they are: dns:_rsm._tcp.test: "
    records silent
    node_end 2
    own_node 2
    says 2 "the members are those of the last time"
    state_is 1 1 3 up || fail "a server that is silent has ended a link"
    records "${both[@]}" "${third[@]}" # the names of the hosts can be looked up again, too
    says 1 "dns:_rsm._tcp.test answers again"
    await_up 1 1 2
    await_up 2 2 3
    nodes_end
    sed 's/_tcp.test/_tcp.nowhere/' "$work/1/rsm.conf" >"$work/1/nowhere.conf"
    ip netns exec h1 "$RSM_RSMD" --check --config "$work/1/nowhere.conf" 2>&1 |
        grep -q 'dns:_rsm._tcp.nowhere: no SRV records' || fail "a name that is not there is not named"
}

# own_node N: rsmd of host N, which finds by its address which node it is.
own_node() {
    local before
    before=$(grep -c 'listens at' "$work/$1/log" 2>/dev/null)
    [ -d "$work/$1/run" ] || mkdir -m 700 "$work/$1/run"
    ip netns exec "h$1" "$RSM_RSMD" --foreground --stderr --config "$work/$1/rsm.conf" \
        --runtime-dir "$work/$1/run" >>"$work/$1/log" 2>&1 &
    pids[$1]=$!
    await "rsmd of host $1 serves" served "$1" "${before:-0}"
}

# Names without numbers: the address has the id.
case_addresses() {
    begin
    name_server
    records "SRV _rsm._tcp.test 60 9247 alpha.test" "A alpha.test 60 10.99.0.1" \
        "SRV _rsm._tcp.test 60 9247 beta.test" "A beta.test 60 10.99.0.2"
    member_host 1 dns:_rsm._tcp.test "node-ids = address/24"
    member_host 2 dns:_rsm._tcp.test "node-ids = address/24"
    own_node 1
    own_node 2
    await_up 1 1 2
    await_up 2 2 1
    nodes_end
}

"case_$1"
