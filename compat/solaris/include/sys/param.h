/* SPDX-License-Identifier: BSD-3-Clause */
/** @file `<sys/param.h>` and Solaris's names of the page size; MAXNAMELEN is in <rsm/base_types.h>.
 */
#ifndef _RSM_SOLARIS_SYS_PARAM_H
#define _RSM_SOLARIS_SYS_PARAM_H
#pragma GCC system_header

#include_next <sys/param.h>
#include <sys/types.h>
#include <unistd.h>

/** Bytes in a page. A call: it cannot be the size of an array. */
#ifndef PAGESIZE
#define PAGESIZE (sysconf(_SC_PAGESIZE))
#endif
/** The bits of an address within its page, and those of the page. */
#ifndef PAGEOFFSET
#define PAGEOFFSET (PAGESIZE - 1)
#endif
#ifndef PAGEMASK
#define PAGEMASK (~PAGEOFFSET)
#endif

#endif
