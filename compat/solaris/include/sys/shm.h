/* SPDX-License-Identifier: BSD-3-Clause */
/** @file `<sys/shm.h>` and Solaris's ways of attaching a segment. */
#ifndef _RSM_SOLARIS_SYS_SHM_H
#define _RSM_SOLARIS_SYS_SHM_H
#pragma GCC system_header

#include_next <sys/shm.h>

/* They ask for shared page tables, which Linux does not have for these segments, so shmat() is
 * asked for nothing. What Solaris did besides, to lock the pages, is memcntl(MC_LOCK) or
 * shmctl(SHM_LOCK). */
#ifndef SHM_SHARE_MMU
#define SHM_SHARE_MMU 0
#endif
#ifndef SHM_PAGEABLE
#define SHM_PAGEABLE 0
#endif

#endif
