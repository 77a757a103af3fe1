#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# program.sh COMMAND [ARGUMENTS]: run it in the machine. It finds what it needs here: that it would
# skip is a failure.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

"$@"
status=$?
[ $status -ne 77 ] || lab_fail "$1 was skipped"
exit $status
