#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# older_headers.sh CC SOURCE: what uses newer names of the kernel's compiles with the oldest headers that
# README names, too: such names have a guard with their value.
set -u
cc=$1 source=$2
cd "$source" || exit 1
names=$(sed -n 's/^#undef \([A-Z]*_[A-Z]*\).*/\1/p' tests/install/older_headers.h | sort -u | tr '\n' '|')
files=$(grep -lE "${names%|}|MADV_POPULATE|pidfd" -r librsm rsmd tools --include='*.c')
count=0 failed=0
for file in $files; do
    case $file in
    */verbs/* | */ntb/*) continue ;; # they need libraries or generated headers, and no such name
    esac
    if "$cc" -std=gnu11 -D_GNU_SOURCE -DRSM_RELEASE='""' -DRSM_RSMD_PATH='""' \
        -DRSM_RSMD_FROM_LIBRARY='""' -DRSM_TLSD_FROM_RSMD='""' -DRSM_MODULE_DIR='""' -include tests/install/older_headers.h -Iinclude \
        -Ilibrsm -I. -Irsmd -Itools/common -Itools -fsyntax-only -Werror=implicit-function-declaration "$file"; then
        count=$((count + 1))
    else
        failed=1
    fi
done
echo "$count files compile with older headers"
[ "$failed" -eq 0 ] && [ "$count" -ge 5 ]
