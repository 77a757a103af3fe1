#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# check.sh [--update] LIBDIR: compare the public interface of the libraries in LIBDIR with the descriptions in
# packaging/abi/ARCHITECTURE, which are those of the released libraries. What programs could notice is an error; new
# functions are, too, until --update has written them down. Functions removed or changed need another soname instead.
set -eu
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
top=$here/../..
update=
if [ "${1-}" = --update ]; then
    update=yes
    shift
fi
libraries=$1
described=$here/$(uname -m)
if [ ! -d "$described" ]; then
    echo "check.sh: there is no description for $(uname -m); nothing was compared" >&2
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# describe LIBRARY INCLUDE...: its functions and the types of public headers, without places and names of this host.
describe() {
    local library=$1 folder options=()
    shift
    for folder in "$@"; do
        options+=(--headers-dir "$top/$folder")
    done
    if [ "$library" = librsm.so.2 ]; then # whose private node changes with every version: base/exports.h
        {
            echo '[abi_whitelist]'
            sed '/^#/d; s/.*/  &\n  _&/' "$top/tests/headers/functions.txt"
            sed '/^#/d; s/.*/  &/' "$top/tests/headers/extension_functions.txt"
        } >"$work/functions"
        options+=(--kmi-whitelist "$work/functions")
    fi
    abidw --drop-private-types "${options[@]}" --no-corpus-path --no-comp-dir-path \
        --no-show-locs --type-id-style hash "$libraries/$library" |
        sed "s|path='$(realpath "$top")/|path='|"
}

failed=0
check() {
    local library=$1 status=0
    describe "$@" >"$work/$library.abi"
    if ! grep -q '<function-decl ' "$work/$library.abi"; then
        echo "check.sh: $libraries/$library describes no functions (no debugging information?)" >&2
        exit 1
    fi
    if [ -n "$update" ]; then
        cp "$work/$library.abi" "$described/$library.abi"
        return
    fi
    abidiff "$described/$library.abi" "$work/$library.abi" || status=$?
    if [ "$status" -ne 0 ]; then
        echo "check.sh: $library differs from what was released ($status)" >&2
        failed=1
    fi
}

check librsm.so.2 include compat/include
check librsm-solaris.so.1 compat/solaris/include include
check libsisci.so.1 compat/sisci/include
exit "$failed"
