#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Configure the project on a machine that has no cmocka: without tests by default, with a message, and
# an error only where somebody asked for the tests.
#
#   without_cmocka.sh CMAKE PKG_CONFIG
#
# RSM_SOURCE_DIR is the source tree.
set -u
cmake=$1 pkg_config=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
    echo "FAILED: $*"
    cat "$work/log"
    failed=1
}

cat > "$work/pkg-config" <<END
#!/bin/sh
case "\$*" in *cmocka*) exit 1 ;; esac
exec '$pkg_config' "\$@"
END
chmod +x "$work/pkg-config"
configure() {
    rm -rf "$work/build"
    "$cmake" -S "$RSM_SOURCE_DIR" -B "$work/build" -DPKG_CONFIG_EXECUTABLE="$work/pkg-config" "$@" > "$work/log" 2>&1
}

configure || fail "a plain configuration stops"
grep -q 'tests are not built: cmocka was not found' "$work/log" || fail "nobody said that there are no tests"
grep -q '^CMAKE_BUILD_TYPE:.*=RelWithDebInfo$' "$work/build/CMakeCache.txt" || fail "the build is not optimised"
[ ! -d "$work/build/tests" ] || fail "there are tests"
configure -DRSM_BUILD_TESTS=ON && fail "RSM_BUILD_TESTS=ON is content without cmocka"
exit $failed
