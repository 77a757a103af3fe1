#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rpm.sh FOLDER [JOBS]: build RPMs, from the archive of the source that deb.sh left in FOLDER, into FOLDER/rpm, and run
# rpmlint on them. What a package needs for its build is not looked up where dpkg installed it.
set -eu
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
folder=$(realpath "$1")
jobs=${2:-$(nproc)}
archive=$(echo "$folder"/librsm_*.orig.tar.xz)
version=${archive##*/librsm_}
version=${version%.orig.tar.xz}
top=$folder/rpm/build
rm -rf "$folder/rpm"
mkdir -p "$top/SOURCES" "$top/SPECS"
cp "$archive" "$top/SOURCES/librsm-$version.tar.xz"
spec=$top/SPECS/librsm.spec
merged=$folder/rpm/merged
sed "s/@VERSION@/$version/g" "$here/rpm/librsm.spec.in" >"$spec"
nodeps=()
if command -v dpkg >/dev/null; then
    nodeps=(--nodeps)
fi

# build LOG ARGUMENT...: rpmbuild, of the spec.
build() {
    local log=$1
    shift
    env -u CMAKE_C_COMPILER_LAUNCHER rpmbuild "$@" "${nodeps[@]}" --define "_smp_mflags -j$jobs" "$spec" >"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        echo "the RPMs were not built; all of the output: $log" >&2
        exit 1
    }
}

start=$SECONDS
build "$folder/rpm/build.log" -ba --define "_topdir $top"
find "$top/RPMS" "$top/SRPMS" -name '*.rpm' -exec cp -t "$folder/rpm" {} +
echo "built in $((SECONDS - start)) s: $(find "$folder/rpm" -maxdepth 1 -name '*.rpm' | wc -l) RPMs"
# Warnings count, too. What is filtered has its reason in rpmlint.toml.
rpmlint --strict --config "$here/rpm/rpmlint.toml" "$spec" "$folder"/rpm/*.rpm >"$folder/rpm/rpmlint.log" 2>&1 || {
    cat "$folder/rpm/rpmlint.log" >&2
    exit 1
}
echo "rpmlint: $(tail -n 1 "$folder/rpm/rpmlint.log")"

# expect WANTED COMMAND...: a line that the command prints.
expect() {
    "${@:2}" | grep -qxF -e "$1" || {
        echo "not so: '$1' in: ${*:2}" >&2
        exit 1
    }
}

# query NAME OPTION...: of the package with this name.
query() {
    rpm -qp --nosignature "${@:2}" "$packages/$1-$version-1.$(uname -m).rpm"
}

packages=$folder/rpm
expect /usr/sbin/rsmd query rsmd -l
expect munge query rsmd --recommends
expect rsmd query librsm --recommends
expect rsmd query rsm-tools --recommends
expect "post: systemd" query rsmd --requires -v

# Where /usr/sbin is /usr/bin, as in Fedora since 42.
start=$SECONDS
mkdir -p "$merged"
cp -R "$top/SOURCES" "$merged"
build "$folder/rpm/merged.log" -bb --define "_topdir $merged" --define "_sbindir %{_prefix}/bin"
packages=$merged/RPMS/$(uname -m)
expect /usr/bin/rsmd query rsmd -l
if query rsm-tools -l | grep -xF /usr/bin/rsmd; then
    echo "with /usr/sbin in /usr/bin, two packages have rsmd" >&2
    exit 1
fi
# shellcheck disable=SC2016
expect "ExecStart=/usr/bin/rsmd" sh -c 'rpm2cpio "$0"/rsmd-*.rpm | cpio -i --quiet --to-stdout "./usr/lib/systemd/system/rsmd.service" | sed -n "s/ .*//; /^ExecStart=/p"' "$packages"
echo "the same with %{_sbindir} in /usr/bin ($((SECONDS - start)) s)"
rm -rf "$top" "$merged"
