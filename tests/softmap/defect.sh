#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# defect.sh PROGRAM [ARGUMENT...]: a program that has a defect compiled in has to find it.
RSM_LITMUS_LIMIT_MS=5000
export RSM_LITMUS_LIMIT_MS
output=$("$@" 2>&1)
status=$?
echo "$output"
case $status:$output in
1:*FAILED* | 1:*violated*) exit 0 ;;
esac
echo "FAILED: the defect went unnoticed (status $status)"
exit 1
