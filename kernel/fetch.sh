#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# fetch.sh VERSION FOLDER: get what building modules for Debian's kernel VERSION (such as 6.1.0-56-amd64)
# needs, and print where it is: the folder of its headers and the folder drivers/ntb of its source.
# Installed packages are used where they are; others are downloaded and unpacked below FOLDER, and
# never installed: the headers of some kernels depend on the kernel itself.
set -eu
version=$1
folder=$(realpath -m "$2")
flavour=${version##*-}
series=$(sed -E 's/^([0-9]+\.[0-9]+).*/\1/' <<<"$version")
case $version in
*+*) base=${version%-"$flavour"} kbuild=linux-kbuild-${version%-"$flavour"} ;;
*) base=${version%-"$flavour"} kbuild=linux-kbuild-$series ;; # up to 6.1
esac
mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9

# unpack TARGET PACKAGE...: download and unpack, all or nothing.
unpack() {
    local target=$1 work
    shift
    work=$(mktemp -d "$folder/fetch.XXXXXX")
    (cd "$work" && apt-get download -qq -o APT::Sandbox::User=root "$@" >&2 && mkdir unpacked &&
        for package in ./*.deb; do dpkg -x "$package" unpacked; done) || {
        rm -rf "$work"
        echo "could not download $*; does apt's list of packages need an update?" >&2
        exit 1
    }
    mv "$work/unpacked" "$target"
    rm -rf "$work"
}

headers=/lib/modules/$version/build
if [ ! -e "$headers/Makefile" ]; then
    root=$folder/headers-$version
    headers=$root/usr/src/linux-headers-$version
    if [ ! -d "$root" ]; then
        unpack "$root.new" "linux-headers-$version" "linux-headers-$base-common" "$kbuild"
        sed -i "s|/usr/src/|$root/usr/src/|" "$root.new/usr/src/linux-headers-$version/Makefile"
        mv "$root.new" "$root"
    fi
fi

source=$folder/ntb-$series
if [ ! -d "$source" ]; then
    archive=/usr/src/linux-source-$series.tar.xz
    if [ ! -e "$archive" ]; then
        unpack "$folder/source-$series" "linux-source-$series"
        archive=$folder/source-$series$archive
    fi
    rm -rf "$source.new"
    mkdir "$source.new"
    tar -xf "$archive" -C "$source.new" --strip-components=1 \
        "linux-source-$series/drivers/ntb" "linux-source-$series/scripts/checkpatch.pl" \
        "linux-source-$series/scripts/spelling.txt" \
        "linux-source-$series/scripts/const_structs.checkpatch"
    rm -rf "$folder/source-$series"
    mv "$source.new" "$source"
fi
echo "$headers"
echo "$source"
