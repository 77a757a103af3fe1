#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Install the build into a directory of its own, look whether everything is there, and build and run
# programs against it in the two ways that others will: pkg-config and find_package.
#
#   install.sh CMAKE COMPILER BUILD_DIR LIBDIR SBINDIR BINDIR VERSION [SANITIZERS]
#
# The directories are relative to the prefix. RSM_SOURCE_DIR is the source tree.
set -u
cmake=$1 compiler=$2 build=$3 libdir=$4 sbindir=$5 bindir=$6 version=$7 sanitizers=${8:-}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../published/private_node.sh"
private_node_begin

prefix=$work/prefix
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}
run_hello() {
    said=$(timeout 60 "$1" 2>&1)
    [ "$said" = hello ] || fail "$1 said: $said"
}

"$cmake" --install "$build" --prefix "$prefix" > "$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}

for file in include/rsmapi.h include/rsm/rsmapi.h include/rsm/rsm_common.h \
    include/rsm/rsmapi_common.h include/rsm/base_types.h include/rsm/rsmpai.h \
    include/sisci_api.h include/sisci_types.h include/sisci_error.h include/dis_types.h \
    include/sisci_version.h include/sisci_demolib.h include/rmlib.h include/dis/sisci_api.h \
    include/dis/dis_types.h include/dis/testlib.h "$libdir/libsisci.so.1" "$libdir/pkgconfig/sisci.pc" \
    include/rsm/group.h include/rsm/transport.h include/sys/rsm/rsm_common.h include/sys/rsm/rsmapi_common.h \
    "$libdir/librsm.so.2" "$libdir/rsm/librsm_mapping.so" "$libdir/pkgconfig/rsm.pc" \
    "$libdir/cmake/rsm/rsm-config.cmake" \
    "$libdir/cmake/rsm/rsm-config-version.cmake" "$libdir/cmake/rsm/rsm-targets.cmake" \
    lib/systemd/system/rsmd.service lib/systemd/system/rsmd.socket lib/systemd/system/rsm-rxe@.service \
    lib/udev/rules.d/60-rsm-userfaultfd.rules lib/udev/rules.d/60-rsm-ntb.rules lib/sysusers.d/rsm.conf "$libdir/rsm/librsm_tcp.so" "$libdir/rsm/rsm-tcpd" "$libdir/rsm/rsm-tlsd" "$sbindir/rsm-cert" \
    "$sbindir/rsmd" "$bindir/rsmtest" "$bindir/scitest" "$bindir/rsm-transport-check"; do
    [ -f "$prefix/$file" ] || fail "$file is not installed"
done
for file in LICENSE README.md CHANGELOG.md doc/security.md examples/rsm.conf examples/rsmtest/main.c; do
    [ -f "$prefix/share/doc/librsm/$file" ] || fail "share/doc/librsm/$file is not installed"
done
grep -q 'Run ldconfig' "$work/log" || fail "nobody says ldconfig"
grep -E '^-- (Installing|Up-to-date): ' "$work/log" | grep -vF ": $prefix" &&
    fail "these went outside the prefix"
# The groups of the rules are those that are made, and not the same: users of programs get no bridge.
for rule in userfaultfd ntb; do
    group=$(sed -n 's/.*GROUP="\([^"]*\)".*/\1/p' "$prefix/lib/udev/rules.d/60-rsm-$rule.rules")
    grep -q "^g $group -" "$prefix/lib/sysusers.d/rsm.conf" || fail "nobody makes the group \"$group\""
    [ "$group" != "${before-}" ] || fail "two rules have the group \"$group\""
    before=$group
done
[ -L "$prefix/$libdir/librsm.so" ] || fail "librsm.so is not a symbolic link"
case $(readlink "$prefix/$libdir/librsm.so") in
librsm.so.2*) ;;
*) fail "librsm.so is no link to librsm.so.2 beside it" ;;
esac
readelf -d "$prefix/$libdir/librsm.so.2" > "$work/dynamic" || fail "no dynamic section"
grep -q 'SONAME.*\[librsm\.so\.2\]' "$work/dynamic" || fail "the soname is not librsm.so.2"
grep -rlF "$RSM_SOURCE_DIR" "$prefix/include" "$prefix/$libdir/pkgconfig" \
    "$prefix/$libdir/cmake" && fail "these files know where they were built"

# The mapping engine finds librsm.so.2 because it is loaded already, wherever that lies.
for module in "$prefix/$libdir"/rsm/*.so; do
    readelf -d "$module" > "$work/dynamic" || fail "$module has no dynamic section"
    grep -Eq 'RPATH|RUNPATH' "$work/dynamic" && [ -z "$sanitizers" ] && fail "$module has a run path"
    case $module in
    */librsm_mapping.so)
        grep -q 'NEEDED.*\[librsm\.so\.2\]' "$work/dynamic" || fail "$module does without librsm" ;;
    *) grep -q 'NEEDED.*\[librsm\.so\.2\]' "$work/dynamic" && fail "$module needs librsm" ;;
    esac
    [ -n "$sanitizers" ] && continue
    LD_LIBRARY_PATH=$prefix/$libdir ldd -r "$module" > "$work/ldd" 2>&1 || fail "ldd -r $module"
    grep -E 'undefined|not found' "$work/ldd" && fail "$module does not load"
done

said=$("$prefix/$sbindir/rsmd" --version 2>&1) || fail "rsmd --version: $said"
case $said in
*"$version"*) ;;
*) fail "rsmd --version says \"$said\", not $version" ;;
esac

# The library must find the daemon that was installed with it, in a prefix it was not built for.
unset RSM_RSMD
LD_LIBRARY_PATH=$prefix/$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
sanitize=${sanitizers:+-fsanitize=$sanitizers}

PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
export PKG_CONFIG_PATH
pkg() {
    pkg-config "$@" rsm
}
for name in rsm rsm-solaris sisci; do
    pkg-config --cflags --libs "$name" | grep -F .. && fail "$name.pc has '..' in its flags"
    # In the system's own directories no flag is needed to find anything.
    said=$(pkg-config --define-variable=prefix=/usr --define-variable=libdir=/usr/lib --cflags --libs "$name")
    case " $said" in *' -I/usr/include '* | *' -L'*) fail "$name.pc says $said in /usr" ;; esac
done
[ "$(pkg --modversion)" = "$version" ] || fail "pkg-config says version $(pkg --modversion)"
# shellcheck disable=SC2046,SC2086 # words
if "$compiler" -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror $sanitize $(pkg --cflags) \
    "$here/hello.c" $(pkg --libs) -o "$work/hello"; then
    run_hello "$work/hello"
else
    fail "no program by pkg-config"
fi

# shellcheck disable=SC2046,SC2086 # words
if "$compiler" -std=c11 -Wall -Wextra -Werror $sanitize $(pkg-config --cflags sisci) \
    "$here/hello_sisci.c" $(pkg-config --libs sisci) -o "$work/hello_sisci"; then
    run_hello "$work/hello_sisci"
else
    fail "no SISCI program by pkg-config"
fi

if "$cmake" -S "$here/find_package" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS="$sanitize" -DWANTED_VERSION="$version" \
    > "$work/log" 2>&1 && "$cmake" --build "$work/cmake" >> "$work/log" 2>&1; then
    run_hello "$work/cmake/hello"
    run_hello "$work/cmake/hello_sisci"
    run_hello "$work/cmake/hello_solaris"
else
    cat "$work/log"
    fail "no program by find_package"
fi

# Programs of a sanitizer build need its flags, which the pages do not show.
if [ -z "$sanitizers" ]; then
    "$here/man_commands.sh" "$compiler" "$prefix" "$libdir" || failed=1
    mkdir "$work/bin"
    printf '#!/bin/sh\nexec %s -Wall -Wextra "$@"\n' "$compiler" > "$work/bin/cc"
    chmod +x "$work/bin/cc"
    PATH=$work/bin:$PATH CPATH=$prefix/include LIBRARY_PATH=$prefix/$libdir \
        "$here/readme_program.sh" "$prefix/share/doc/librsm/README.md" || fail "README's program"
fi

# The guides lead to each other, and the examples are projects of their own, as they are installed.
bash "$RSM_SOURCE_DIR/tests/docs/links.sh" "$prefix/share/doc/librsm" || fail "guides that are installed"
for example in rsmtest scitest; do
    if "$cmake" -S "$prefix/share/doc/librsm/examples/$example" -B "$work/$example" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS="$sanitize" > "$work/log" 2>&1 &&
        "$cmake" --build "$work/$example" >> "$work/log" 2>&1; then
        "$work/$example/$example" --version | grep -qF "$version" || fail "$example as installed"
    else
        cat "$work/log"
        fail "$example does not compile as installed"
    fi
done

# A transport that is built outside of the tree, with nothing but what is installed.
[ "$(realpath "$(pkg --variable=moduledir)")" = "$(realpath "$prefix/$libdir/rsm")" ] ||
    fail "pkg-config says moduledir $(pkg --variable=moduledir)"
modules=$(pkg --variable=moduledir)
cp -R "$RSM_SOURCE_DIR/examples/transport" "$work/transport"
check() {
    (
        unset RSM_SHORT_LIVED_RSMD
        RSM_MODULE_DIR=$modules # the prefix is not the one that librsm was built for
        export RSM_MODULE_DIR
        timeout 120 "$prefix/$bindir/rsm-transport-check" "$@"
    ) > "$work/log" 2>&1
    status=$?
    if [ $status -ne 0 ] || ! grep -q '^[A-Z]: *[1-9][0-9]* passed' "$work/log"; then
        cat "$work/log"
        fail "rsm-transport-check $*: status $status"
    fi
}
if "$cmake" -S "$work/transport" -B "$work/transport/build" -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_C_FLAGS="$sanitize" > "$work/log" 2>&1 &&
    "$cmake" --build "$work/transport/build" >> "$work/log" 2>&1; then
    check --module "$work/transport/build/librsm_skeleton.so" --area S
    check --module "$work/transport/build/librsm_skeleton.so" --test D-04
    "$cmake" --install "$work/transport/build" > "$work/log" 2>&1 || cat "$work/log"
    [ -f "$prefix/$libdir/rsm/librsm_skeleton.so" ] || fail "the module is not in moduledir"
    check --transport skeleton --test G-05
    check --transport shm --area S
else
    cat "$work/log"
    fail "no module by the example's CMakeLists.txt"
fi
# The engine that is installed maps for a module of any directory.
mkdir "$work/soft"
sed -e 's/base.caps = 0; .*nothing beyond.*/base.caps = RSM_CAP_FAULT_SAFE;/' -e 's/"skeleton"/"soft"/' \
    "$RSM_SOURCE_DIR/examples/transport/skeleton.c" > "$work/soft/soft.c"
# shellcheck disable=SC2086 # flags
if "$compiler" $sanitize -std=gnu11 -D_GNU_SOURCE -O2 -fPIC -shared -I"$prefix/include" \
    -o "$work/soft/librsm_soft.so" "$work/soft/soft.c" > "$work/log" 2>&1; then
    (
        unset RSM_SHORT_LIVED_RSMD RSM_MODULE_DIR
        timeout 120 "$prefix/$bindir/rsm-transport-check" --module "$work/soft/librsm_soft.so" --test M-11
    ) > "$work/log" 2>&1
fi
if ! grep -q '^M: *1 passed' "$work/log"; then
    cat "$work/log"
    fail "rsm-transport-check does not find the installed mapping engine"
fi
# What has a flaw is told, and no test is run.
cp "$work/transport/build/librsm_skeleton.so" "$work/librsm_other.so"
"$prefix/$bindir/rsm-transport-check" --module "$work/librsm_other.so" > "$work/log" 2>&1
[ $? -eq 1 ] || fail "rsm-transport-check takes a module of another name"
if ! grep -q 'FAILED  node half' "$work/log" || ! grep -q 'another name' "$work/log"; then
    cat "$work/log"
    fail "rsm-transport-check does not say why"
fi

# Nothing remains but what others have put there, which is the skeleton.
"$cmake" -D MANIFEST="$build/install_manifest.txt" -P "$RSM_SOURCE_DIR/cmake/Uninstall.cmake" > "$work/log" 2>&1 || {
    cat "$work/log"
    fail "uninstall"
}
rest=$(find "$prefix" ! -type d ! -name librsm_skeleton.so)
[ -z "$rest" ] || fail "uninstall left $rest"

private_node_finished || failed=1
[ $failed -eq 0 ] && echo "librsm $version installs, and programs build against it and run"
exit $failed
