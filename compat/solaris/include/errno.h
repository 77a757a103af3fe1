/* SPDX-License-Identifier: BSD-3-Clause */
/** @file `<errno.h>`, and the table of messages that glibc took away in 2.32. */
#ifndef _RSM_SOLARIS_ERRNO_H
#define _RSM_SOLARIS_ERRNO_H
#pragma GCC system_header

#include_next <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The message of each error number below #sys_nerr, in English whatever the locale; not to be
 *  changed. New code calls strerror(). */
extern char *sys_errlist[];
extern int sys_nerr;

#ifdef __cplusplus
}
#endif

#endif
