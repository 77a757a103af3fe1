#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Install the build into a directory of its own, compile a program of 2002 with the flags of
# rsm-solaris.pc and nothing else, in the usual dialects, and run it over two controllers.
#
#   legacy.sh CMAKE BUILD_DIR LIBDIR SOURCE COMPILER [SANITIZERS]
#
# LIBDIR is relative to the prefix, RSM_RSMD the daemon to start.
set -u
cmake=$1 build=$2 libdir=$3 source=$4 compiler=$5 sanitizers=${6:-}
# shellcheck source=tests/published/private_node.sh
. "$(dirname "$0")/../published/private_node.sh"
private_node_begin

prefix=$work/prefix
"$cmake" --install "$build" --prefix "$prefix" > "$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
LD_LIBRARY_PATH=$prefix/$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH LD_LIBRARY_PATH
cflags=$(pkg-config --cflags rsm-solaris) && libs=$(pkg-config --libs rsm-solaris) || exit 1
echo "flags: $cflags $libs"
sanitize=${sanitizers:+-fsanitize=$sanitizers}

failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}
compile() {
    # shellcheck disable=SC2086 # words
    "$compiler" "$@" $sanitize $cflags "$source" $libs -o "$work/msgpump" > "$work/log" 2>&1
}
for dialect in "" -std=gnu89 -std=gnu99 -std=gnu11 -std=gnu17; do
    for optimise in -O0 -O2; do
        # shellcheck disable=SC2086 # one word or none
        if ! compile $dialect $optimise; then
            cat "$work/log"
            fail "$compiler $dialect $optimise"
        fi
    done
done
# Not even a warning, of those that users have by default.
[ -s "$work/log" ] && {
    cat "$work/log"
    fail "the last compilation has warnings"
}

for options in "-c sci0" "-c loopback" "-c sci0 -p" "-c loopback -s 1 -n 50" "-v -n 3"; do
    # shellcheck disable=SC2086 # separate words
    if timeout 60 "$work/msgpump" $options > "$work/output" 2>&1; then
        tail -n 1 "$work/output"
    else
        cat "$work/output"
        fail "msgpump $options"
    fi
done
[ "$(grep -c ':exporter\]: message [123]' "$work/output")" -eq 3 ] || fail "msgpump -v shows other messages"
timeout 60 "$work/msgpump" -c nosuch0 > "$work/output" 2>&1 && fail "a controller that is not there"
grep -q 'rsm_get_controller: error 4' "$work/output" || fail "no word about it"

private_node_finished || failed=1
exit $failed
