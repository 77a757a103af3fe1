#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# cancellation.sh SOURCE: each function of SISCI that holds anything says in its first line what the
# cancellation of its thread does there (librsm/base/cancel.h). No other file of the library changes
# how its thread is cancelled.
set -u
source=$1
failed=0

# Of these, which hold nothing, no line is asked: texts, names for others, and what is absent.
exempt='SCIGetErrorString|SCIGetAdapterTypeString|SCIGetAdapterFamilyString|DISStartDmaTransfer|DISStartDmaTransferVec'

for file in "$source"/librsm/sisci/*.c; do
    [ "${file##*/}" = absent.c ] && continue
    awk -v exempt="^($exempt)$" '
        /^SISCI_API\(/ { name = $0; sub(/^SISCI_API\([^,]*, /, "", name); sub(/\).*/, "", name); next_is = 0 }
        name != "" && next_is { if ($0 !~ /^    RSM_(UNCANCELLABLE|CANCEL_DEFERRED);$/ && name !~ exempt) {
                                    print FILENAME ": " name; bad = 1 }
                                name = ""; next_is = 0; count++ }
        name != "" && /^\{$/ { next_is = 1 }
        END { exit bad }' "$file" || failed=1
done
grep -q RSM_UNCANCELLABLE "$source"/librsm/sisci/desc.c || { echo "no functions found"; failed=1; }

# The C library does not keep what is behind pthread_setcancelstate() alone.
if grep -n 'pthread_setcancel' -r "$source/librsm" --include='*.c' --include='*.h' | grep -v '/base/cancel\.h:'; then
    echo "these bypass librsm/base/cancel.h"
    failed=1
fi
exit $failed
