#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# build.sh [--tests MODULES] VERSION HEADERS SOURCE FOLDER [MAKE ARGUMENTS]: build the modules for the kernel VERSION into
# FOLDER: rsm_ntb, and out of the unmodified SOURCE/drivers/ntb the NTB core and the drivers of the hardware (SOURCE
# is "-" where the kernel has them). With --tests also the modules that the folder MODULES has, and the kernel's own
# tests of NTB. Nothing is installed. Does nothing for what is up to date.
set -eu
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
folders=("$here/rsm_ntb") config=()
if [ "$1" = --tests ]; then
    folders+=("$2"/*/)
    config=(CONFIG_NTB_PINGPONG=m CONFIG_NTB_TOOL=m CONFIG_NTB_PERF=m CONFIG_NTB_TRANSPORT=m)
    shift 2
fi
version=$1 headers=$2 source=$3 folder=$(realpath -m "$4")
shift 4
tree=$folder/tree
mkdir -p "$tree"
parts=()
for part in "${folders[@]}"; do
    parts+=("$(basename "$part")")
    cp -rupT "$part" "$tree/${parts[-1]}"
done
if [ "$source" != - ]; then
    cp -rupT "$source/drivers/ntb" "$tree/ntb"
    parts=(ntb "${parts[@]}")
    config+=(CONFIG_NTB=m CONFIG_NTB_INTEL=m CONFIG_NTB_AMD=m CONFIG_NTB_IDT=m CONFIG_NTB_EPF=m)
    # Needs switchtec.ko, which Debian does not build.
    if grep -q '^CONFIG_PCI_SW_SWITCHTEC=' "$headers/.config"; then
        config+=(CONFIG_NTB_SWITCHTEC=m)
    fi
fi
echo "obj-m := ${parts[*]/%//}" >"$tree/Kbuild"
make -s -C "$headers" M="$tree" "${config[@]}" "$@" modules
find "$tree" -name '*.ko' -exec cp -up -t "$folder" {} +
echo "modules for Linux $version: $folder"
