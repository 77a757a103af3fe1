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
sed "s/@VERSION@/$version/g" "$here/rpm/librsm.spec.in" >"$spec"
nodeps=()
if command -v dpkg >/dev/null; then
    nodeps=(--nodeps)
fi
start=$SECONDS
env -u CMAKE_C_COMPILER_LAUNCHER rpmbuild -ba "${nodeps[@]}" --define "_topdir $top" --define "_smp_mflags -j$jobs" \
    "$spec" >"$folder/rpm/build.log" 2>&1 || {
    tail -n 40 "$folder/rpm/build.log" >&2
    echo "the RPMs were not built; all of the output: $folder/rpm/build.log" >&2
    exit 1
}
find "$top/RPMS" "$top/SRPMS" -name '*.rpm' -exec cp -t "$folder/rpm" {} +
echo "built in $((SECONDS - start)) s: $(find "$folder/rpm" -maxdepth 1 -name '*.rpm' | wc -l) RPMs"
# Warnings count, too. What is filtered has its reason in rpmlint.toml.
rpmlint --strict --config "$here/rpm/rpmlint.toml" "$spec" "$folder"/rpm/*.rpm >"$folder/rpm/rpmlint.log" 2>&1 || {
    cat "$folder/rpm/rpmlint.log" >&2
    exit 1
}
echo "rpmlint: $(tail -n 1 "$folder/rpm/rpmlint.log")"
rm -rf "$top"
