#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# fences.sh OBJDUMP FOLDER: whether functions of the arm64 build in that folder have the fences that the order of
# memory needs there (doc/memory-order.md). QEMU on an x86-64 host never shows that one between two loads or
# two stores is missing, so the code itself is looked at. The build is not optimised: inline functions are
# functions.
set -u
objdump=$1 folder=$2 status=0

# has OBJECT FUNCTION FENCE: each function of that name in the object has such an instruction.
has() {
    local found
    found=$("$objdump" -d --no-show-raw-insn "$folder/$1" | awk -v name="<$2>:" -v fence="$3" '
        / <.*>:$/ { if (inside && !good) bad++; inside = $2 == name; good = 0; count += inside }
        inside && match($0, "\t" fence "$") { good = 1 }
        END { if (inside && !good) bad++; if (count > 0 && bad == 0) print "yes" }')
    [ "$found" = yes ] && return
    echo "$1: $2() has no '$3'"
    status=1
}

if ! command -v "$objdump" >/dev/null; then
    echo "skipped: $objdump is not there (package binutils-aarch64-linux-gnu)"
    exit 77
fi
for get in shm_get get_large shm_get_elems shm_getv; do
    has lib/librsm.so.2 "$get" 'dmb[ \t]+ld'
done
has lib/librsm.so.2 shm_order 'dmb[ \t]+sy'
has lib/librsm.so.2 rsmcore_barrier_open 'dmb[ \t]+ld'
for get in ntb_get ntb_get_elems; do
    has lib/rsm/librsm_ntb.so "$get" 'dsb[ \t]+ld'
done
has lib/rsm/librsm_ntb.so ntb_order 'dsb[ \t]+st'
has lib/rsm/librsm_ntb.so ntb_barrier_close 'dsb[ \t]+st'
has lib/rsm/librsm_ntb.so ntb_barrier_close 'dsb[ \t]+ld'
has tests/ivshmem/modules/librsm_ntb.so write_words 'dsb[ \t]+st'
has lib/rsm/librsm_mapping.so mapping_accesses_done 'dmb[ \t]+sy'
has lib/libsisci.so.1 sisci_order_all 'dsb[ \t]+st'
has lib/libsisci.so.1 rsmcore_barrier_open 'dmb[ \t]+ld'
[ "$status" -ne 0 ] || echo "all fences are there"
exit "$status"
