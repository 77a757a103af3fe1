#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# several.sh PART...: run parts one after the other in one machine, because a boot takes longer than many
# a test. A part is `--- NAME [VARIABLE=VALUE...] SCRIPT ARGUMENTS...`; the script is one of this folder. All
# parts run, also after one has failed. What a part leaves behind does not reach the next one.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

failed=()

running=" $(echo /proc/[0-9]*) "
present=" $(echo /tmp/*) " # programs are at their paths of the host, which may be below /tmp

# End what a part has started, and make the devices anew: a kernel may have lost one (doc/verbs.md).
clean_up() {
    local process number path
    for process in /proc/[0-9]*; do
        [[ $running == *" $process "* ]] || kill -KILL "${process#/proc/}" 2>/dev/null
    done
    rm -rf /run/h1 /run/h2 /run/h1.conf /run/h2.conf /run/rsm
    for path in /tmp/*; do
        [[ $present == *" $path "* ]] || rm -rf "$path"
    done
    lab_link_up >/dev/null 2>&1
    for number in 1 2; do
        rdma link delete "rxe$number"
        rdma link add "rxe$number" type rxe netdev "v$number"
        lab_until 20 lab_gid "rxe$number" >/dev/null || lab_fail "there is no rxe$number any more"
    done
}

run_part() {
    local name=$1 began=$SECONDS status=0 variables=()
    shift
    while [[ $1 == *=* ]]; do
        variables+=("$1")
        shift
    done
    echo "lab: part $name"
    env "${variables[@]}" bash "$LAB_SCRIPTS/$1" "${@:2}" || status=$?
    # A part that could not run is none that passed.
    [ $status -eq 0 ] || failed+=("$name")
    echo "lab: part $name: status $status after $((SECONDS - began)) s"
    clean_up
}

while [ $# -gt 0 ]; do
    [ "$1" = --- ] || lab_fail "several.sh: not the start of a part: $1"
    shift
    part=()
    while [ $# -gt 0 ] && [ "$1" != --- ]; do
        part+=("$1")
        shift
    done
    run_part "${part[@]}"
done
[ ${#failed[@]} -eq 0 ] || lab_fail "parts that failed: ${failed[*]}"
