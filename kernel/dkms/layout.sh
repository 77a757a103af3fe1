#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# layout.sh [FOLDER]: lay out the source that dkms builds rsm_ntb from, and print where:
# FOLDER/rsm-ntb-VERSION, /usr/src unless told. doc/ntb-modules.md says what to do with it.
set -eu
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
version=$(sed -n 's/^ *project(librsm.* VERSION \([0-9.]*\).*/\1/p' "$here/../../CMakeLists.txt")
target=${1:-/usr/src}/rsm-ntb-${version:?no version in CMakeLists.txt}
mkdir -p "$target"
cp "$here/make.sh" "$here/missing.sh" "$here/../build.sh" "$target"
cp -rT "$here/../rsm_ntb" "$target/rsm_ntb"
sed "s/@VERSION@/$version/" "$here/dkms.conf" >"$target/dkms.conf"
echo "$target"
