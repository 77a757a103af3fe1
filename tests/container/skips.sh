#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# skips.sh PATTERN COMMAND...: a test that must be skipped and say why.
pattern=$1
shift
output=$("$@" 2>&1)
status=$?
printf '%s\n' "$output"
if [ "$status" -ne 77 ]; then
    echo "FAILED: status $status, not 77"
    exit 1
fi
printf '%s\n' "$output" | grep -q -e "$pattern" || {
    echo "FAILED: it does not say why: $pattern"
    exit 1
}
