#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# tcp_examples.sh RSMD RSMSTAT RSMTEST SCITEST: both examples between two machines over TCP: exporter and server on machine
# 1, importer and client on machine 2.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh
# shellcheck source=../guest/host.sh
. /lab/guest/host.sh

rsmd=$1
rsmstat=$2 rsmtest=$3 scitest=$4
messages=("Hello from node 2" "These words travel through a network" "Goodbye")

# listen NAME COMMAND...: its screen is in /run/NAME.
listen() {
    local name=$1
    shift
    timeout -k 5 120 "$@" >"/run/$name" 2>&1 || {
        cat "/run/$name"
        lab_fail "$name: status $?"
    }
}

# arrived FILE PREFIX COUNT: that many lines begin like this, and each message follows on one of them, in order.
arrived() {
    local number
    grep "^$2" "/run/$1" >"/run/$1.lines"
    [ "$(wc -l <"/run/$1.lines")" -eq "$3" ] || lab_fail "$1: $(cat "/run/$1")"
    for number in "${!messages[@]}"; do
        sed -n "$((number + 1))p" "/run/$1.lines" | grep -q "${messages[number]}\$" ||
            lab_fail "$1: message $((number + 1)) did not arrive: $(cat "/run/$1")"
    done
}

over_tcp() {
    "$rsmstat" --runtime-dir /run/rsm --node "$LAB_MACHINE" --imports --wide | grep -qw tcp
}

tcp_host
if [ "$LAB_MACHINE" -eq 1 ]; then
    for way in mapped put gathered; do
        listen "rsmtest.$way" "$rsmtest" -e -n 2 -c 3
        arrived "rsmtest.$way" 'msg \[' 3
        echo "result: rsmtest, $way: three messages"
    done
    listen many "$rsmtest" -e -n 2 -c 20
    listen scitest "$scitest"
    arrived scitest 'message ' 3
    echo "result: scitest: three messages"
else
    printf '%s\n' "${messages[@]}" >/run/messages
    for option in -C -O -G; do # maps, puts, gathers
        listen "rsmtest$option" "$rsmtest" -i -n 1 -c 3 $option </run/messages
    done
    {
        seq 1 10
        lab_until 60 over_tcp && touch /run/seen # while the connection is there
        seq 11 20
    } | listen many "$rsmtest" -i -n 1 -c 20 -C || exit 1
    [ -e /run/seen ] || lab_fail "rsmstat does not show tcp: $("$rsmstat" --runtime-dir /run/rsm --node 2 --imports --wide)"
    listen scitest "$scitest" -c -n 1 -w 60 </run/messages
fi
kill -TERM "$daemon"
wait "$daemon" || lab_fail "rsmd: status $?"
