#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# messages.sh BUILD_DIR: what goes wrong on a host is said by its cause, and with what to do.
set -u
build=$1
export PATH=$build/bin:$PATH RSM_RSMD=$build/bin/rsmd RSM_LOG=error
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-messages.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
export RSM_RUNTIME_DIR=$work
unset RSM_NODE RSM_MODULE_DIR
failed=0
# says TEXT COMMAND...: the command fails, and says so.
says() {
    local text=$1 status
    shift
    timeout 60 "$@" >"$work/log" 2>&1 </dev/null
    status=$?
    if [ "$status" -eq 0 ] || [ "$status" -eq 124 ] || ! grep -qF -e "$text" "$work/log"; then
        echo "FAILED: $* (status $status) does not say '$text': $(cat "$work/log")"
        failed=1
    fi
}
configure() {
    printf '[controller sci0]\n' >"$work/conf"
    printf '%s\n' "$@" >>"$work/conf"
}

says '/bin/true ends at once and says nothing: it is no rsmd; RSM_RSMD names it' \
    env RSM_RSMD=/bin/true rsmtest -e
configure 'transport = verbs'
says "Debian's package would be librsm2-verbs" env RSM_MODULE_DIR="$work" rsmd --check -c "$work/conf"
configure 'transport = shm' 'options = timeout=3'
says 'shm has no options: remove "timeout=3"' rsmd --check -c "$work/conf"
configure 'transport = shm' 'device = x'
says 'shm has no device: remove "x"' rsmd --check -c "$work/conf"
says 'start the server there' scitest -c -n 1 -w 1
says 'expected a node id from 1 to 65535' rsminfo -n x
[ "$(wc -l <"$work/log")" -eq 1 ] || { echo "FAILED: rsminfo -n x: $(cat "$work/log")"; failed=1; }

# A missing perftest is said once, not for each figure.
env PATH="$build/bin" rsmperf -o pingpong,get,put-stream -s 64 -t 20 --limit-device a,b >"$work/log" 2>&1
if [ "$(grep -c 'the package perftest has it' "$work/log")" -ne 1 ]; then
    echo "FAILED: without perftest: $(cat "$work/log")"
    failed=1
fi

# What another way needs, too.
env PATH="$build/bin" rsmperf -o put,get -s 64 -t 20 --beside ucx,mpi >"$work/log" 2>&1
for words in 'ucx_perftest is not installed: the package ucx-utils has it' \
    'mpirun is not installed: the package openmpi-bin has it'; do
    if [ "$(grep -c "$words" "$work/log")" -ne 1 ]; then
        echo "FAILED: without '$words': $(cat "$work/log")"
        failed=1
    fi
done

if unshare -rm true 2>/dev/null; then
    says '/proc is not mounted' unshare -rm sh -c "mount -t tmpfs none /proc && exec rsmd -f -n 3 -d '$work'"
    # The library alone, with a daemon that has it.
    rsmd -f -n 5 -d "$work" >"$work/rsmd.log" 2>&1 &
    daemon=$!
    for ((i = 0; i < 500; i++)); do
        [ ! -S "$work/node-5.sock" ] || break
        sleep 0.02
    done
    says "cannot look at this process's mappings: /proc is not mounted" \
        env RSM_NODE=5 unshare -rm sh -c "mount -t tmpfs none /proc && exec rsmtest -e -n 2"
    kill "$daemon"
    wait "$daemon"
else
    echo "not run: without /proc, which needs user namespaces"
fi
if strace -f -o /dev/null true 2>/dev/null; then
    says 'memfd_create() is refused' strace -f -o /dev/null -e trace=memfd_create -e inject=memfd_create:error=ENOSYS \
        rsmd -f -n 3 -d "$work"
else
    echo "not run: without memfd_create(), which needs strace"
fi
exit $failed
