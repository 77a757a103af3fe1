#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# make.sh VERSION HEADERS: what dkms runs. Where the kernel has no NTB, its core and the drivers of the
# hardware come, unmodified, from the kernel's source (package linux-source).
set -eu
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")"
version=$1 headers=$2
series=$(sed -E 's/^([0-9]+\.[0-9]+).*/\1/' <<<"$version")
archive=${LINUX_SOURCE:-/usr/src/linux-source-$series.tar.xz}
source=-
missing=$(./missing.sh "$version" "$headers")
[ -z "$missing" ] || {
    echo "rsm-ntb: install $missing, then let dkms install the module again" >&2
    exit 1
}
if ! grep -q '^CONFIG_NTB=' "$headers/.config"; then
    echo "rsm-ntb: Linux $version is built without NTB: building its core and drivers from $archive"
    source=$PWD/out/source
    mkdir -p "$source"
    tar -xf "$archive" -C "$source" --strip-components=1 --wildcards '*/drivers/ntb'
fi
./build.sh "$version" "$headers" "$source" out
