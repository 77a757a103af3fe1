/* SPDX-License-Identifier: BSD-3-Clause */
/** @file `<unistd.h>` and what Solaris declares there. */
#ifndef _RSM_SOLARIS_UNISTD_H
#define _RSM_SOLARIS_UNISTD_H
#pragma GCC system_header

#include_next <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/** 1 if the program was given other rights than those of its caller (set-user-id, set-group-id,
 *  capabilities) when it was started, 0 if not. */
int issetugid(void);

/** fork(), which copies the calling thread alone, as fork1() does on every Solaris. */
pid_t fork1(void);

#ifdef __cplusplus
}
#endif

#endif
