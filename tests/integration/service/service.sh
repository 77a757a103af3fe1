#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# service.sh USER: the system daemon of that user id without any capability, root or not, as a service
# manager runs it, with programs of other users. All in namespaces of the test's own, where the
# system's runtime directory is free.
set -u
rsmd_user=$1
program_user=65534

skip() {
    echo "not run: $*"
    exit 77
}

if [ "${RSM_SERVICE_INSIDE-}" != 1 ]; then
    : "${RSM_RSMD:?}" "${RSM_BUILD_DIR:?}" "${RSM_SYSTEM_DIRECTORY:?}" # ctest sets them
    [ "$(id -u)" -eq 0 ] || skip "needs root, for several users"
    for tool in unshare setpriv; do
        command -v "$tool" >/dev/null || skip "there is no $tool (util-linux)"
    done
    unshare --mount --pid --fork --mount-proc true 2>/dev/null ||
        skip "this machine allows no namespaces"
    RSM_SERVICE_INSIDE=1 exec unshare --mount --pid --fork --kill-child --mount-proc "$0" "$@"
fi

fail() {
    echo "FAILED: $*"
    tail -n 30 "$work"/*.screen
    exit 1
}

# as USER COMMAND...: in its place, without any privilege.
as() {
    local user=$1
    shift
    exec setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps=-all --no-new-privs "$@"
}

# await WHAT COMMAND...
await() {
    local what=$1 until=$((SECONDS + 30))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$until" ] || fail "in vain: $what"
        sleep 0.05
    done
}

[ "$(dirname "$RSM_SYSTEM_DIRECTORY")" = /run ] || skip "the system's runtime directory is not in /run"
(as "$program_user" test -x "$RSM_RSMD") || skip "other users cannot run $RSM_RSMD"
mount -t tmpfs none /run || skip "cannot mount a tmpfs"
work=/run/work
mkdir "$work" "$RSM_SYSTEM_DIRECTORY"
chown "$rsmd_user:$rsmd_user" "$RSM_SYSTEM_DIRECTORY"
unset RSM_RUNTIME_DIR RSM_NODE XDG_RUNTIME_DIR

printf '[controller sci0]\ntransport = shm\n' >"$work/rsm.conf"
setpriv --reuid "$rsmd_user" --regid "$rsmd_user" --clear-groups --inh-caps=-all \
    --bounding-set=-all --no-new-privs "$RSM_RSMD" --foreground --all-users --config "$work/rsm.conf" \
    >"$work/rsmd.screen" 2>&1 &
daemon=$!
await "rsmd serves" test -S "$RSM_SYSTEM_DIRECTORY/node-1.sock"

rsmtest=$RSM_BUILD_DIR/bin/rsmtest
for user in "$program_user" 0; do
    as "$user" "$rsmtest" -e -c 1 >"$work/exporter.screen" 2>&1 &
    exporter=$!
    await "a segment of user $user is published" grep -q '^Mbuf is' "$work/exporter.screen"
    echo "of user $user" | (as "$user" "$rsmtest" -i -c 1) >"$work/importer.screen" 2>&1 ||
        fail "the importer of user $user ended with an error"
    wait "$exporter" || fail "the exporter of user $user ended with an error"
    grep -q "of user $user" "$work/exporter.screen" || fail "no message came to user $user"
done

"$RSM_BUILD_DIR/bin/rsmstat" >"$work/rsmstat.screen" || fail "rsmstat of root"
kill "$daemon"
wait "$daemon" || fail "rsmd ended with $?"
[ "$(ls "$RSM_SYSTEM_DIRECTORY")" = node-1.lock ] || # which says that there is a daemon at times
    fail "something is left in $RSM_SYSTEM_DIRECTORY"
echo "as it should be"
