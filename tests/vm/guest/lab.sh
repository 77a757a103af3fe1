#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Functions for scripts that run in a lab machine. Device rxeN has the address 10.9.0.N; both are in
# the one machine (LAB_MACHINES=1), or rxeN is in machine N.

lab_fail() {
    echo "lab: failed: $*" >&2
    exit 1
}

# Where a script cannot run: lab_skip REASON.
lab_skip() {
    echo "lab: not run: $*"
    exit 77
}

# lab_until SECONDS COMMAND...: repeat until it succeeds.
lab_until() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}

# --- network -----------------------------------------------------------------------------------

lab_network() {
    ip link set lo up
    if [ "$LAB_MACHINES" -eq 1 ]; then
        lab_network_veth
    else
        lab_network_wire
    fi
    # The GID with the IPv4 address comes a moment after the device.
    local number
    for number in 1 2; do
        [ "$LAB_MACHINES" -eq 1 ] || [ "$LAB_MACHINE" -eq $number ] || continue
        lab_until 20 lab_gid "rxe$number" >/dev/null || {
            echo "lab: rxe$number has no RoCE v2 address"
            return 1
        }
    done
}

# lab_gid DEVICE: the index of its GID for RoCE v2 over IPv4.
lab_gid() {
    local folder=/sys/class/infiniband/$1/ports/1 index
    for index in 0 1 2 3 4 5 6 7; do
        if [[ $(cat "$folder/gids/$index" 2>/dev/null) == 0000:0000:0000:0000:0000:ffff:* ]] &&
            [ "$(cat "$folder/gid_attrs/types/$index" 2>/dev/null)" = "RoCE v2" ]; then
            echo $index
            return
        fi
    done
    return 1
}

# A soft-RoCE device in a network name space does not work on these kernels. So both ends of a veth
# pair are in one, and rules ahead of the local table send what is for the other end over the wire.
lab_network_veth() {
    ip -batch - <<'END' || return 1
link add v1 address 02:00:00:00:00:01 mtu 4500 type veth peer name v2 address 02:00:00:00:00:02 mtu 4500
addr add 10.9.0.1/32 dev v1
addr add 10.9.0.2/32 dev v2
rule add pref 100 lookup local
rule del pref 0
rule add pref 10 iif lo to 10.9.0.2 lookup 12
rule add pref 11 iif lo to 10.9.0.1 lookup 21
rule add pref 12 oif v1 to 10.9.0.2 lookup 12
rule add pref 13 oif v2 to 10.9.0.1 lookup 21
END
    local end
    for end in v1 v2; do
        echo 1 >/proc/sys/net/ipv4/conf/$end/accept_local
        echo 0 >/proc/sys/net/ipv4/conf/$end/rp_filter
        echo 1 >/proc/sys/net/ipv4/conf/$end/arp_ignore
        echo 2 >/proc/sys/net/ipv4/conf/$end/arp_announce
    done
    echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
    lab_link_up || return 1
    printf 'link add rxe1 type rxe netdev v1\nlink add rxe2 type rxe netdev v2\n' | rdma -b -
}

# Routes and neighbours go with the link, so they are set each time that it comes up.
lab_link_up() {
    ip -batch - <<'END'
link set v1 up
link set v2 up
route replace 10.9.0.2/32 dev v1 src 10.9.0.1 table 12
route replace 10.9.0.1/32 dev v2 src 10.9.0.2 table 21
neigh replace 10.9.0.2 lladdr 02:00:00:00:00:02 dev v1 nud permanent
neigh replace 10.9.0.1 lladdr 02:00:00:00:00:01 dev v2 nud permanent
END
}

# lab_wire LINK: several machines: addresses on the network between machines LINK + 1 and LINK + 2, of which this
# is one: 10.9.LINK.MACHINE. Two machines have link 0.
lab_wire() {
    local link=$1 peer=$((2 * $1 + 3 - LAB_MACHINE))
    device=$(grep -l "52:54:00:00:0$link:0$LAB_MACHINE" /sys/class/net/*/address | head -n 1)
    device=$(basename "$(dirname "$device")") # the caller's
    # Soft-RoCE looks at a packet's queue pair when the network lets go of the packet, and crashes
    # the kernel if the queue pair has gone by then, as it may while the other machine takes nothing.
    # netem with a delay lets go of it at once and sends the rest.
    tc qdisc replace dev "$device" root netem delay 1us limit 10000 || return 1
    ip -batch - <<END || return 1
link set $device mtu 4500 up
addr add 10.9.$link.$LAB_MACHINE/24 dev $device
neigh replace 10.9.$link.$peer lladdr 52:54:00:00:0$link:0$peer dev $device nud permanent
END
}

lab_network_wire() {
    local device
    lab_wire 0 || return 1
    rdma link add "rxe$LAB_MACHINE" type rxe netdev "$device"
}

# --- bridge ------------------------------------------------------------------------------------

# lab_ntb [PARAMETER=VALUE...]: the modules of ./dev build kernel, rsm_ntb with the parameters. A machine of
# the lab may stand still for seconds, and is not dead for that: it is after LAB_NTB_DEAD_MS, for which the
# drivers' default is 1000. LAB_NTB_HARDWARE has parameters for ntb_hw_ivshmem.
lab_ntb() {
    local module dead=${LAB_NTB_DEAD_MS:-3000}
    mount -t debugfs debugfs /sys/kernel/debug
    for module in ntb "ntb_hw_ivshmem beat_misses=$((dead / 50)) ${LAB_NTB_HARDWARE-}" \
        "rsm_ntb heartbeat_misses=$((dead / 100)) $*"; do
        # shellcheck disable=SC2086 # words
        set -- $module
        insmod "/lab/built/$1.ko" "${@:2}" || lab_fail "insmod $module"
    done
}

# lab_ntb_end STATUS: the end of a test with that status. What the kernel has to complain about is a
# failure whatever the status, and so is a module that does not go.
lab_ntb_end() {
    local module
    dmesg | grep rsm_ntb | tail -n 40
    if dmesg | grep -E -A 50 'WARNING:|BUG[: ]|Oops|refcount_t|list_(add|del) corruption|possible circular|general protection'; then
        lab_fail "the kernel complained"
    fi
    [ "$1" -eq 0 ] || exit "$1"
    for module in rsm_ntb ntb_hw_ivshmem ntb; do
        lab_until 20 rmmod $module || lab_fail "rmmod $module"
    done
}

# --- nodes -------------------------------------------------------------------------------------

# lab_two_hosts RSMD CONF1 CONF2: daemons of nodes 1 and 2, each with a runtime directory of its own,
# /run/h1 and /run/h2; CONFn says what controllers there are.
lab_two_hosts() {
    local rsmd=$1 node
    shift
    for node in 1 2; do
        mkdir -p /run/h$node
        {
            printf '[cluster]\nauth = none\ninsecure = yes\n'
            printf '[node 1]\nhost = host1\naddress = 127.1.0.1\n'
            printf '[node 2]\nhost = host2\naddress = 127.1.0.2\n'
            cat "${!node}"
        } >/run/h$node.conf
        "$rsmd" --foreground --config=/run/h$node.conf --node=$node --runtime-dir=/run/h$node &
        lab_until 60 test -S /run/h$node/node-$node.sock ||
            lab_fail "rsmd of node $node does not listen"
    done
}

# munged with a key that both machines of this run have.
lab_munged() {
    mkdir -p /run/munge
    (
        umask 077
        sed 's/.*lab.nonce=\([^ ]*\).*/\1/' /proc/cmdline | sha512sum >/run/munge/key
    )
    munged --key-file=/run/munge/key --pid-file=/run/munge/pid --log-file=/run/munge/log \
        --seed-file=/run/munge/seed --socket=/run/munge/socket || lab_fail 'munged does not start'
}

# --- orders to the host ------------------------------------------------------------------------

# What the host says is kept in a file, so that nobody misses a note. It repeats to each machine what
# was said before that one listened.
lab_listen() {
    exec 9<"$LAB_ORDERS"
    cat <&9 >/run/notes &
    exec 9<&-
    echo hello >"$LAB_ORDERS"
}

# lab_note WORD: tell all machines; lab_await WORD [SECONDS]: until some machine has.
lab_note() {
    echo "note $1" >"$LAB_ORDERS"
}

lab_await() {
    lab_until "${2:-60}" grep -qx "$1" /run/notes || lab_fail "nobody said $1"
}

# lab_machine VERB MACHINE: kill, freeze, thaw, unplug or plug it; done when this returns.
lab_machine() {
    echo "$1 $2" >"$LAB_ORDERS"
    lab_await "$1-$2"
}
