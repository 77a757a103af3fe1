#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# litmus.sh DECODER LITMUS: in the machine, the test of the mapping engine's decoder, with what the kernel itself
# says of a fault, and all litmus tests but that of time limits, which an emulated processor exceeds.
# shellcheck source=../vm/guest/lab.sh
. /lab/guest/lab.sh

"$1" || exit 1
tests=$("$2" --list | grep -vx bulk)
[ -n "$tests" ] || lab_fail "$2 lists no tests"
# shellcheck disable=SC2086 # a list of words
"$2" $tests
