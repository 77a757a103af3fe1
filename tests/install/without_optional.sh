#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Configure the project on a machine that lacks what is optional: without these parts by default, with a
# message, and an error only where somebody asked for them.
#
#   without_optional.sh CMAKE PKG_CONFIG
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
case "\$*" in *cmocka* | *rdmacm*) exit 1 ;; esac
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
grep -Eq '^-- +transport verbs +no: librdmacm .*was not found' "$work/log" || fail "the summary says nothing of verbs"
grep -Eq '^-- +transport ntb +yes' "$work/log" || fail "the summary says nothing of ntb"
grep -Eq '^-- +transport tcp +yes' "$work/log" || fail "the summary says nothing of tcp"
grep -q -- -Werror "$work/build/build.ninja" "$work/build/rsmd/CMakeFiles/rsmd.dir/flags.make" 2> /dev/null &&
    fail "warnings of unknown compilers are errors"
configure -DRSM_BUILD_TESTS=ON && fail "RSM_BUILD_TESTS=ON is content without cmocka"
configure -DRSM_WITH_VERBS=ON && fail "RSM_WITH_VERBS=ON is content without librdmacm"
grep -q 'librdmacm-dev' "$work/log" || fail "nobody names the package"
configure -DRSM_WITH_TRANSPORT_CHECK=ON && fail "RSM_WITH_TRANSPORT_CHECK=ON is content without cmocka"
configure -DRSM_WITH_VERBS=maybe && fail "RSM_WITH_VERBS=maybe is taken"
configure -DRSM_WITH_VERBS=no -DRSM_WITH_NTB=OFF -DRSM_WITH_TCP=OFF -DRSM_WITH_TLS=OFF -DRSM_WITH_DECODER=OFF -DRSM_WITH_USDT=OFF ||
    fail "parts cannot be left out"
# Nobody is shown the manual of what is not there, nor is its command line completed.
"$cmake" -S "$RSM_SOURCE_DIR" -B "$work/build" -DRSM_WITH_TRANSPORT_CHECK=OFF > "$work/log.check" 2>&1
for part in verbs ntb transport-check probes; do
    grep -rlE "(man[17]/|completions/)?rsm-$part(\\.[17])?\"" "$work/build" --include=cmake_install.cmake | grep . &&
        fail "the page or the completion of $part would be installed"
done
grep -q 'rsm-solaris\.7"' "$work/build/man/cmake_install.cmake" || fail "no page would be installed"
[ "$(grep -Ec '^-- +(transport verbs|transport ntb|transport tcp|links with auth = tls|instruction decoder|static probes .USDT.) +no \(RSM_WITH' "$work/log")" -eq 6 ] ||
    fail "the summary does not say what was left out"
exit $failed
