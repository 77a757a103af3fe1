#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# found.sh PROGRAM MODULE CHECK...: each check fails over the module, and as a check, not by a crash of the program.
set -u
program=$1 module=$2 failed=0
shift 2
for check in "$@"; do
    output=$("$program" --module "$module" --test "$check" 2>&1)
    status=$?
    echo "$output"
    if [ $status -ne 1 ] || ! echo "$output" | grep -q "^FAILED  $check "; then
        echo "$check has not found the mistake: status $status"
        failed=1
    fi
done
exit $failed
