#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compile the published example program, its text untouched, and hand it to a lab test. The text is
# not ours to distribute: RSM_PUBLISHED_PROGRAM names a document that has it.
#
#   published.sh COMPILER LIBRARY_DIR PROGRAM ARGUMENTS...
#
# PROGRAM is where to put it, ARGUMENTS are run.sh's. RSM_SOURCE_DIR is the source tree.
set -u
compiler=$1 libraries=$2 program=$3
shift 3
if [ -z "${RSM_PUBLISHED_PROGRAM:-}" ]; then
    echo "SKIPPED: RSM_PUBLISHED_PROGRAM does not name a document with the published program"
    exit 77
fi
mkdir -p "$(dirname "$program")" || exit 1
perl "$RSM_SOURCE_DIR/tests/published/unflatten.pl" "$RSM_PUBLISHED_PROGRAM" > "$program.c" || exit 1
CPATH=$RSM_SOURCE_DIR/compat/include:$RSM_SOURCE_DIR/include \
    "$compiler" "$program.c" -L"$libraries" -lrsm -Wl,-rpath,"$libraries" -w -o "$program" || exit 1
exec "$RSM_SOURCE_DIR/tests/vm/run.sh" "$@"
