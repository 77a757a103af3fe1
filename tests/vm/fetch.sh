#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# fetch.sh PACKAGE FOLDER: get the kernel that a Debian meta package such as linux-image-6.12-amd64
# stands for and unpack it below FOLDER/kernels. Nothing is installed: /boot, /lib/modules and the
# boot loader stay as they are. Does nothing if the kernel is there already.
set -eu
meta=$1
folder=$(realpath -m "$2")
package=$(apt-cache depends --no-recommends --no-suggests "$meta" 2>/dev/null |
    sed -n 's/^ *Depends: \(linux-image-.*\)/\1/p' | head -n 1)
if [ -z "$package" ]; then
    echo "no package $meta is known; does apt's list of packages need an update?" >&2
    exit 1
fi
target=$folder/kernels/$package
[ ! -d "$target" ] || exit 0
mkdir -p "$folder/kernels"
work=$(mktemp -d "$folder/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root "$package"
dpkg -x ./*.deb unpacked
# Only the boot image and the modules are of use.
rm -rf unpacked/usr/share
mv unpacked "$target"
echo "unpacked $package"
