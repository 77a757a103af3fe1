# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Hosts in network namespaces, each with an rsmd. Sourced by links.sh. Everything is in namespaces
# of the test's own, mounts and processes too: whatever happens to the test, nothing is left.

skip() {
    echo "not run: $*"
    exit 77
}

# into_namespaces SCRIPT ARGUMENTS...: run the script again where it may do as it likes.
into_namespaces() {
    [ "${RSM_LINKS_INSIDE-}" != 1 ] || return 0
    : "${RSM_RSMD:?}" "${RSM_BUILD_DIR:?}" # ctest sets them
    [ "$(id -u)" -eq 0 ] || skip "only root can make network namespaces"
    local tool
    for tool in ip unshare setpriv; do
        command -v "$tool" >/dev/null || skip "there is no $tool (iproute2, util-linux)"
    done
    unshare --mount --net --pid --fork --mount-proc true 2>/dev/null ||
        skip "this machine allows no namespaces"
    export RSM_LINKS_INSIDE=1
    exec unshare --mount --net --pid --fork --kill-child --mount-proc "$@"
}

declare -A pids munged_pids
work=/run/links
timeout_ms=1500

begin() {
    mount -t tmpfs none /run || skip "cannot mount a tmpfs"
    mkdir -p "$work"
    ip netns add switch || skip "cannot make a network namespace"
    ip -n switch link add br0 type bridge || skip "this kernel has no bridge"
    ip -n switch link set br0 up
}

fail() {
    echo "FAILED: $*"
    local log
    for log in "$work"/*/log; do
        echo "--- $log"
        tail -n 30 "$log"
    done
    exit 1
}

# await WHAT COMMAND...: until the command succeeds; WHAT is what would be said in vain.
await() {
    local what=$1 until=$((SECONDS + 60))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$until" ] || fail "in vain: $what"
        sleep 0.05
    done
}

# host N: a host at 10.99.0.N, on the switch.
host() {
    ip netns add "h$1"
    mkdir -p "$work/$1"
    chmod 755 "$work/$1"
    ip -n "h$1" link set lo up
    ip -n switch link add "p$1" type veth peer name eth0 netns "h$1" || skip "this kernel has no veth"
    ip -n switch link set "p$1" master br0 up
    ip -n "h$1" link set eth0 up
    ip -n "h$1" addr add "10.99.0.$1/24" dev eth0
}

cable() { # cable N up|down
    ip -n switch link set "p$1" "$2"
}

# conf N ADDRESS...: the configuration of host N; the addresses are those of nodes 1, 2, ...
conf() {
    local at=$work/$1 id=0 address
    shift
    {
        echo "[limits]"
        echo "peer-timeout-ms = $timeout_ms"
        echo "[cluster]"
        echo "munge-socket = $at/munge/socket"
        for address in "$@"; do
            id=$((id + 1))
            printf '[node %d]\nhost = host%d\naddress = %s\n' "$id" "$id" "$address"
        done
        printf '[controller sci0]\ntransport = peek\n[controller here0]\ntransport = shm\n'
    } >"$at/rsm.conf"
}

# node HOST ID [COMMAND...]: start rsmd; the command runs it.
node() {
    local host=$1 id=$2 before
    shift 2
    before=$(grep -c 'listens at' "$work/$host/log" 2>/dev/null)
    [ -d "$work/$host/run" ] || mkdir -m 700 "$work/$host/run"
    ip netns exec "h$host" "$@" "$RSM_RSMD" --foreground --stderr --config "$work/$host/rsm.conf" \
        --node "$id" --runtime-dir "$work/$host/run" >>"$work/$host/log" 2>&1 &
    pids[$host]=$!
    await "rsmd of host $host serves" served "$host" "${before:-0}"
}

served() {
    [ "$(grep -c 'listens at' "$work/$1/log")" -gt "$2" ]
}

node_signal() { # node_signal HOST SIGNAL
    kill "-$2" "${pids[$1]}" || fail "rsmd of host $1 has gone"
}

# node_end HOST [SIGNAL]: and it is gone, as it should.
node_end() {
    local status=0 signal=${2-TERM}
    node_signal "$1" "$signal"
    wait "${pids[$1]}" || status=$?
    unset "pids[$1]"
    if [ "$signal" = TERM ] && [ "$status" -ne 0 ]; then
        fail "rsmd of host $1 ended with $status"
    fi
}

nodes_end() {
    local host
    for host in "${!pids[@]}"; do
        node_end "$host"
    done
}

# munged_start HOST KEY [NAME=VALUE...]: a munged of its own, with the key of that name, for the host's
# rsmd.
munged_start() {
    local host=$1 key=$work/key-$2 at=$work/$1/munge
    shift 2
    [ -f "$key" ] || (umask 077 && dd if=/dev/urandom of="$key" bs=64 count=1 status=none)
    mkdir -p "$at"
    chmod 755 "$at"
    env "$@" munged --foreground --force --num-threads 1 --socket "$at/socket" --key-file "$key" \
        --pid-file "$at/pid" --log-file "$at/log" --seed-file "$at/seed" >>"$at/out" 2>&1 &
    munged_pids[$host]=$!
    await "munged of host $host answers" munge --socket "$at/socket" --no-input
}

munged_end() {
    kill -KILL "${munged_pids[$1]}"
    wait "${munged_pids[$1]}" 2>/dev/null
    rm -f "$work/$1/munge/socket" "$work/$1/munge/socket.lock"
}

rsmstat_of() { # rsmstat_of HOST ID OPTIONS...
    local host=$1 id=$2
    shift 2
    "$RSM_BUILD_DIR/bin/rsmstat" --runtime-dir "$work/$host/run" --node "$id" "$@"
}

# link HOST ID PEER FIELD: of the link's line: 4 is the state, 7 and the rest the last failure.
link() {
    rsmstat_of "$1" "$2" --links --wide |
        awk -v peer="$3" -v from="$4" '$1 == peer {
            last = from >= 7 ? NF : from
            for (i = from; i <= last; i++) printf "%s%s", $i, i < last ? " " : ""
        }'
}

state_is() { # state_is HOST ID PEER STATE
    case $(link "$1" "$2" "$3" 4) in
    "$4") return 0 ;;
    *) return 1 ;;
    esac
}

text_has() { # text_has HOST ID PEER TEXT
    case $(link "$1" "$2" "$3" 7) in
    *"$4"*) return 0 ;;
    *) return 1 ;;
    esac
}

peer_is() { # peer_is HOST ID PEER STATE: as programs see it
    rsmstat_of "$1" "$2" --topology |
        awk -v peer="$3" -v state="$4" '$1 == "sci0" && $2 == peer && $5 == state { found = 1 }
            $1 == "here0" && $2 == peer { wrong = 1 } END { exit !found || wrong }'
}

await_up() { # await_up HOST ID PEER
    await "the link of host $1 to node $3 comes up" state_is "$1" "$2" "$3" up
    await "node $3 is active for host $1" peer_is "$1" "$2" "$3" active
}

await_down() {
    await "the link of host $1 to node $3 goes down" state_is "$1" "$2" "$3" down
    await "node $3 is down for host $1" peer_is "$1" "$2" "$3" down
}

await_text() {
    await "the link of host $1 to node $3 says: $4" text_has "$1" "$2" "$3" "$4"
}

# logged HOST TEXT TIMES: the log has exactly so many lines with the text.
logged() {
    local count
    count=$(grep -cF -- "$2" "$work/$1/log")
    [ "$count" -eq "$3" ] || fail "host $1 logged '$2' $count times, not $3"
}
