#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# sysroot.sh ARCHITECTURE...: make build/sysroot/ARCHITECTURE, Debian's libraries for another processor, as
# the toolchain files of this folder want it. For arm64 with kernels and tools, for the lab's machine. Does
# nothing if the folder is there and has the packages that are named here. Nothing is installed on this host.
set -eu
cd "$(dirname "$(realpath "$0")")/../.."

packages=libc6-dev,linux-libc-dev,libevent-dev,libinih-dev,uthash-dev,libbsd-dev,libibverbs-dev
packages+=,librdmacm-dev,libnl-3-dev,libssl-dev,libcmocka-dev,libgcc-s1
machine=linux-image-arm64,linux-image-6.12-arm64,bash,busybox-static,iproute2,strace,perl-base,util-linux,libmunge2

for architecture; do
    folder=build/sysroot/$architecture
    wanted=$packages
    [ "$architecture" != arm64 ] || wanted+=,$machine
    if [ "$(cat "$folder/packages" 2>/dev/null)" = "$wanted" ]; then
        continue
    fi
    rm -rf "$folder"
    mkdir -p build/sysroot
    mmdebstrap --variant=extract --architectures="$architecture" --include="$wanted" bookworm "$folder"
    echo "$wanted" >"$folder/packages"
done
