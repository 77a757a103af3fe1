#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# deb.sh FOLDER [JOBS]: lay out the source as a distribution gets it, with the archive librsm_VERSION.orig.tar.xz,
# below FOLDER/NAME, and build Debian's packages there; they are in FOLDER afterwards. What is built is the tree as it
# is, committed or not. With REPRODUCE=yes, build twice, at different places and times, and compare.
set -eu
top=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
mkdir -p "$1"
folder=$(realpath "$1")
jobs=${2:-$(nproc)}
version=$(dpkg-parsechangelog -l "$top/debian/changelog" -S Version)
upstream=${version%-*}
grep -q "^project(librsm VERSION $upstream " "$top/CMakeLists.txt" || {
    echo "debian/changelog says version $upstream, and CMakeLists.txt something else" >&2
    exit 1
}
export SOURCE_DATE_EPOCH DEB_BUILD_OPTIONS="nocheck ${DEB_BUILD_OPTIONS-}"
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$top/debian/changelog" -S Timestamp)

# The project's files: those that git knows or would add, else all but what was built.
list() {
    if git -C "$top" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git -C "$top" ls-files -z --cached --others --exclude-standard
    else
        (cd "$top" && find . \( -path ./build -o -path ./.git \) -prune -o -type f -print0 | sed -z 's|^\./||')
    fi
}

# lay_out FOLDER: the source, and its archive.
lay_out() {
    local tree=$1/librsm-$upstream
    rm -rf "$1"
    mkdir -p "$tree"
    # git also names what was deleted and is not committed.
    (cd "$top" && list | xargs -0 ls -d 2>/dev/null | tar -c -T -) | tar -x -C "$tree"
    tar -c --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --exclude="librsm-$upstream/debian" \
        -C "$1" "librsm-$upstream" | xz -T1 >"$1/librsm_$upstream.orig.tar.xz"
}

# build NAME WHAT: of the tree below FOLDER/NAME.
build() {
    local name=$1 tree=$folder/$1/librsm-$upstream
    # A launcher such as ccache would see through the different places.
    (cd "$tree" && env -u CMAKE_C_COMPILER_LAUNCHER dpkg-buildpackage "$2" -us -uc -j"$jobs" >"$folder/$name.log" 2>&1) || {
        tail -n 40 "$folder/$name.log" >&2
        echo "the packages were not built; all of the output: $folder/$name.log" >&2
        exit 1
    }
}

start=$SECONDS
lay_out "$folder/first"
build first --build=full
echo "built in $((SECONDS - start)) s: $(find "$folder/first" -name '*.deb' | wc -l) packages"
if [ "${REPRODUCE-}" = yes ]; then
    # From the source package, which holds all that is needed.
    rm -rf "$folder/another-place"
    mkdir "$folder/another-place"
    dpkg-source -x "$folder"/first/*.dsc "$folder/another-place/librsm-$upstream" >/dev/null
    build another-place --build=binary
    differ=0
    for package in "$folder"/first/*.deb; do
        cmp "$package" "$folder/another-place/${package##*/}" || differ=1
    done
    [ "$differ" -eq 0 ] || {
        echo "a second build, at another place, gave other packages" >&2
        exit 1
    }
    echo "a second build, at another place, gave the same packages"
    rm -rf "$folder/another-place"
fi
rm -f "$folder"/*.deb "$folder"/*.dsc "$folder"/*.changes "$folder"/*.buildinfo "$folder"/*.tar.xz # of an earlier version, too
cp "$folder"/first/*.deb "$folder"/first/*.dsc "$folder"/first/*.changes "$folder"/first/*.buildinfo "$folder"/first/*.tar.* "$folder"
