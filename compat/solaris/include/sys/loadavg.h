/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Load averages. glibc has getloadavg() itself, in `<stdlib.h>`. */
#ifndef _RSM_SOLARIS_SYS_LOADAVG_H
#define _RSM_SOLARIS_SYS_LOADAVG_H

#include <stdlib.h>

/* Places in the array that getloadavg() fills. */
#define LOADAVG_1MIN   0
#define LOADAVG_5MIN   1
#define LOADAVG_15MIN  2
#define LOADAVG_NSTATS 3

#endif
