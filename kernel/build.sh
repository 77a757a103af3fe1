#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# build.sh VERSION HEADERS SOURCE FOLDER [MAKE ARGUMENTS]: build the modules for the kernel VERSION into FOLDER:
# rsm_ntb, the tests' ntb_hw_ivshmem, and out of the unmodified SOURCE/drivers/ntb the NTB core, the drivers of the
# hardware and the kernel's own tests. Nothing is installed. Does nothing for what is up to date.
set -eu
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
version=$1 headers=$2 source=$3 folder=$(realpath -m "$4")
shift 4
tree=$folder/tree
mkdir -p "$tree"
cp -rupT "$source/drivers/ntb" "$tree/ntb"
for part in rsm_ntb ntb_hw_ivshmem; do
    cp -rupT "$here/$part" "$tree/$part"
done
echo 'obj-m := ntb/ rsm_ntb/ ntb_hw_ivshmem/' >"$tree/Kbuild"
# Switchtec's needs switchtec.ko, which Debian does not build.
config=(CONFIG_NTB=m CONFIG_NTB_INTEL=m CONFIG_NTB_AMD=m CONFIG_NTB_IDT=m CONFIG_NTB_EPF=m
    CONFIG_NTB_PINGPONG=m CONFIG_NTB_TOOL=m CONFIG_NTB_PERF=m CONFIG_NTB_TRANSPORT=m)
if grep -q '^CONFIG_PCI_SW_SWITCHTEC=' "$headers/.config"; then
    config+=(CONFIG_NTB_SWITCHTEC=m)
fi
make -s -C "$headers" M="$tree" "${config[@]}" "$@" modules
find "$tree" -name '*.ko' -exec cp -up -t "$folder" {} +
echo "modules for Linux $version: $folder"
