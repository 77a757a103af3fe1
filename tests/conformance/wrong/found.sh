#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# found.sh PROGRAM CHECK MODULE: the check fails over the module, and by itself, not by a crash of the program.
set -u
output=$("$1" --module "$3" --test "$2" 2>&1)
status=$?
echo "$output"
[ $status -eq 1 ] || {
    echo "status $status, not 1"
    exit 1
}
echo "$output" | grep -q "^FAILED  $2 " || {
    echo "$2 has not failed"
    exit 1
}
