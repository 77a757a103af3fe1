#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# defect.sh NUMBER PROGRAM [ARGUMENT...]: a program whose mapping engine has that defect has to find it. One that is
# a race may stay away once; a program without a defect would pass however often. A mode that cannot be had here is no
# failure.
RSM_PLANTED_DEFECT=$1
export RSM_PLANTED_DEFECT
shift
RSM_LITMUS_LIMIT_MS=2000
export RSM_LITMUS_LIMIT_MS
for run in 1 2 3 4 5 6 7 8 9 10; do
    output=$("$@" 2>&1)
    status=$?
    echo "run $run:"
    echo "$output"
    case $status:$output in
    1:*FAILED* | 1:*violated*) exit 0 ;;
    0:*) ;;
    77:*) exit 77 ;;
    *) break ;;
    esac
done
echo "FAILED: the defect went unnoticed (status $status)"
exit 1
