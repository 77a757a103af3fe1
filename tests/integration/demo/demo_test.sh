#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# demo_test.sh CASE DEMO BUILD_DIR: run the demo against a build, whole or with something broken.
set -u
case_name=$1
demo=$2
build=$3
export TMPDIR
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/rsm-demo-test.XXXXXX") || exit 1
trap 'rm -rf -- "$TMPDIR" "$TMPDIR.files"' EXIT
mkdir "$TMPDIR.files" || exit 1
screen=$TMPDIR.files/screen

fail() {
    echo "FAILED: $*"
    echo "--- the demo showed:"
    cat "$screen"
    exit 1
}

# fake_importer LINE: a build whose rsmtest does LINE where it should import, and is real otherwise.
fake_importer() {
    mkdir -p "$TMPDIR.files/build/bin"
    cat >"$TMPDIR.files/build/bin/rsmtest" <<END
#!/bin/bash
case \$1 in
-i) $1 ;;
*) exec '$build/bin/rsmtest' "\$@" ;;
esac
END
    chmod +x "$TMPDIR.files/build/bin/rsmtest"
    ln -s "$build/bin/rsmd" "$TMPDIR.files/build/bin/rsmd"
}

run_demo() {
    "$demo" "$1" >"$screen" 2>&1
}

expect_shown() {
    grep -qE -- "$1" "$screen" || fail "nothing like '$1' was shown"
}

# expect_failure BUILD REASON...: the demo fails, and each REASON is on the screen.
expect_failure() {
    local reason
    run_demo "$1" && fail "the demo claims success"
    shift
    expect_shown '^demo: failed: '
    for reason in "$@"; do
        expect_shown "$reason"
    done
}

expect_success() {
    expect_shown '^\[node 1 exporter\] Local node id = 1$'
    expect_shown '^\[node 2 importer\] Local node id = 2$'
    expect_shown '^\[node 2 importer\] Enter msg \[0x[0-9a-f]+ 0\]: Hello from node 2$'
    expect_shown '^\[node 1 exporter\] msg \[0x[0-9a-f]+ 0 1\] Hello from node 2$'
    expect_shown '^demo: 3 messages went from node 2 to node 1$'
}

expect_nothing_left() {
    local left process
    left=$(ls -A "$TMPDIR")
    [ -z "$left" ] || fail "files are left: $left"
    process=$(grep -lsz -- "^RSM_RUNTIME_DIR=$TMPDIR/" /proc/[0-9]*/environ)
    [ -z "$process" ] || fail "processes are left: $process"
}

case $case_name in
arrives)
    run_demo "$build" || fail "the demo ended with status $?"
    expect_success
    ;;
closed-input)
    run_demo "$build" <&- || fail "the demo ended with status $?"
    expect_success
    ;;
daemon-missing)
    RSM_RSMD=$TMPDIR.files/missing expect_failure "$build" 'missing is missing'
    ;;
daemon-ends-at-once)
    RSM_RSMD=$(type -P false) expect_failure "$build" 'exporter .* ended too early' \
        'rsmtest: rsm_get_controller: RSMERR_CTLR_NOT_PRESENT'
    ;;
importer-ends-at-once)
    fake_importer 'echo no such luck; exit 3'
    expect_failure "$TMPDIR.files/build" 'no such luck' \
        'importer .* ended too early, with status 3'
    ;;
message-altered)
    fake_importer "sed -u s/Hello/Hallo/ | '$build/bin/rsmtest' \"\$@\""
    RSM_DEMO_SECONDS=5 expect_failure "$TMPDIR.files/build" 'Hallo from node 2' \
        "message 'Hello from node 2' did not arrive within 5 s"
    ;;
*)
    echo "unknown case: $case_name"
    exit 1
    ;;
esac
expect_nothing_left
echo "as expected:"
cat "$screen"
