#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# traps.sh COMMAND [ARGUMENTS]: run it in the machine with the trap of the mapping engine that has to be asked for, and in
# mirror mode, which has none. It finds what it needs here: that it would skip is a failure.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

# with NAME VALUE COMMAND...: with that variable.
with() {
    echo "$1=$2:"
    env "$1=$2" "${@:3}"
    status=$?
    [ $status -ne 77 ] || lab_fail "$3 was skipped"
    [ $status -eq 0 ] || exit $status
}

with RSM_MAP_TRAP thread "$@"
with RSM_MAP_MODE mirror "$@"
