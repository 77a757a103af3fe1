#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Without the flags of rsm-solaris.pc nobody sees the kit: a program of librsm's has the kit's names for
# itself, and the kit's headers are not there.
#
#   unseen.sh SOURCE_DIR COMPILER
set -u
tree=$1 compiler=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-unseen.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

failed=0
cat > "$work/own_names.c" << 'END'
#include <rsmapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/shm.h>
#include <sys/time.h>
#include <unistd.h>
#if defined(PAGESIZE) || defined(_LITTLE_ENDIAN) || defined(_BIG_ENDIAN) || defined(NANOSEC) ||     \
    defined(MC_LOCK) || defined(SHM_SHARE_MMU)
#error "macros of the kit are visible"
#endif
typedef struct { int own; } boolean_t, longlong_t, hrtime_t, timestruc_t, processorid_t;
enum { B_FALSE = 7, B_TRUE };
static int gethrtime, memcntl, getexecname, issetugid;
int use(void);
int use(void) { return gethrtime + memcntl + getexecname + issetugid + B_TRUE; }
END
"$compiler" -fsyntax-only -Wall -Wextra -Werror -I"$tree/compat/include" -I"$tree/include" \
    "$work/own_names.c" || failed=1

for header in thread.h synch.h atomic.h sys/atomic.h sys/systeminfo.h sys/byteorder.h; do
    echo "#include <$header>" > "$work/header.c"
    if "$compiler" -fsyntax-only -I"$tree/compat/include" -I"$tree/include" "$work/header.c" \
        2> "$work/log"; then
        echo "FAILED: <$header> can be included"
        failed=1
    fi
done
exit $failed
