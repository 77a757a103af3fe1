#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# missing.sh VERSION [HEADERS]: print the package that a build of rsm_ntb for the kernel VERSION lacks, or nothing.
set -eu
version=$1
headers=${2:-/lib/modules/$version/build}
series=$(sed -E 's/^([0-9]+\.[0-9]+).*/\1/' <<<"$version")
archive=${LINUX_SOURCE:-/usr/src/linux-source-$series.tar.xz}
if [ ! -e "$headers/.config" ]; then
    echo "linux-headers-$version"
elif ! grep -q '^CONFIG_NTB=' "$headers/.config" && [ ! -e "$archive" ]; then
    # Its NTB core and the drivers of the hardware are to come from there.
    echo "linux-source-$series"
fi
