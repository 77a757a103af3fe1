#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# engine.sh PROGRAM MODULE: a test that maps passes over a module that leaves mapping to the engine and has none beside
# it.
set -u
unset RSM_MODULE_DIR
output=$("$1" --module "$2" --test M-11 2>&1)
status=$?
echo "$output"
[ $status -eq 0 ] || exit 1
echo "$output" | grep -q '^M: *1 passed'
