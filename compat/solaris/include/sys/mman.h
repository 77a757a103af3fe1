/* SPDX-License-Identifier: BSD-3-Clause */
/** @file `<sys/mman.h>` and memcntl(). */
#ifndef _RSM_SOLARIS_SYS_MMAN_H
#define _RSM_SOLARIS_SYS_MMAN_H
#pragma GCC system_header

#include_next <sys/mman.h>
#include <sys/types.h>

/* Commands of memcntl(). */
#define MC_SYNC     1 /* msync(); the argument is its flags */
#define MC_LOCK     2 /* mlock() */
#define MC_UNLOCK   3 /* munlock() */
#define MC_ADVISE   4 /* madvise(); the argument is its advice */
#define MC_LOCKAS   5 /* mlockall(); the argument is its flags */
#define MC_UNLOCKAS 6 /* munlockall() */

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Operate on the pages of [addr, addr + len).
 *
 * @param addr  page-aligned; NULL for MC_LOCKAS and MC_UNLOCKAS, where @p len is 0.
 * @param arg   a number in pointer's clothing, see the commands.
 * @param attr  must be 0: all pages.
 * @param mask  must be 0.
 * @return 0, or -1 with errno EINVAL (unaligned, unknown command, address with a command that takes
 *         none, nonzero mask), ENOTSUP (nonzero @p attr: a choice of pages), or that of the Linux
 * call named with the command.
 */
int memcntl(caddr_t addr, size_t len, int cmd, caddr_t arg, int attr, int mask);

#ifdef __cplusplus
}
#endif

#endif
