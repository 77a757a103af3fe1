#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh [OPTIONS] SCRIPT [ARGUMENTS]: run.py, or the reason why there is no lab here.
set -u
if ! command -v python3 > /dev/null; then
    echo "lab: not run: python3 is not installed"
    [ "${RSM_LAB_REQUIRED-}" = 1 ] && exit 1
    exit 77
fi
exec python3 -B "$(dirname "$0")/run.py" "$@"
