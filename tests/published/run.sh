#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The acceptance test: the published example program, its text untouched, compiled as its users do and
# run as they do (X-01, X-02, X-05, X-06, X-08). The text is not ours to distribute; the variable
# RSM_PUBLISHED_PROGRAM names a document that has it.
#
#   run.sh COMPILER LIBRARY_DIR TYPE_DRIVER [SANITIZERS]
#
# RSM_RSMD is the daemon to start, RSM_SOURCE_DIR the source tree.
set -u
compiler=$1 libraries=$2 driver=$3 sanitizers=${4:-}
here=$(cd "$(dirname "$0")" && pwd)

if [ -z "${RSM_PUBLISHED_PROGRAM:-}" ]; then
    echo "SKIPPED: RSM_PUBLISHED_PROGRAM does not name a document with the published program"
    exit 77
fi
. "$here/private_node.sh"
private_node_begin
perl "$here/unflatten.pl" "$RSM_PUBLISHED_PROGRAM" > "$work/rsmtest.c" || exit 1

sh "$here/compile_modes.sh" "$work/rsmtest.c" "$compiler" "$RSM_SOURCE_DIR" "$libraries" \
    "$sanitizers" || exit 1

CPATH=$RSM_SOURCE_DIR/compat/include:$RSM_SOURCE_DIR/include
LIBRARY_PATH=$libraries
LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export CPATH LIBRARY_PATH LD_LIBRARY_PATH
cd "$work" || exit 1
# shellcheck disable=SC2086 # one word or none
"$compiler" rsmtest.c -lrsm -w ${sanitizers:+-fsanitize=$sanitizers} -o rsmtest || exit 1

# Its importer needs the exporter's uid, or what the umask leaves to others. Each run needs the id that
# the one before had.
umask 022
for options in "" "--typed" "--importer-first" "--one-node" "--one-node --typed"; do
    echo "run: ${options:-piped, two nodes}"
    # shellcheck disable=SC2086 # separate words
    "$driver" $options ./rsmtest || exit 1
done
private_node_finished
