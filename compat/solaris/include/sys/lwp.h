/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Lightweight processes, which are the threads of `<thread.h>` and have their ids. */
#ifndef _RSM_SOLARIS_SYS_LWP_H
#define _RSM_SOLARIS_SYS_LWP_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** As thr_self(). */
lwpid_t _lwp_self(void);

/** As thr_kill(). */
int _lwp_kill(lwpid_t lwp, int sig);

#ifdef __cplusplus
}
#endif

#endif
