/* SPDX-License-Identifier: BSD-3-Clause */
/** @file `<sys/time.h>` and Solaris's clocks of high resolution. */
#ifndef _RSM_SOLARIS_SYS_TIME_H
#define _RSM_SOLARIS_SYS_TIME_H
#pragma GCC system_header

#include_next <sys/time.h>
#include <sys/types.h>
#include <time.h>

/* Parts of a second. */
#ifndef SEC
#define SEC 1
#endif
#ifndef MILLISEC
#define MILLISEC 1000
#endif
#ifndef MICROSEC
#define MICROSEC 1000000
#endif
#ifndef NANOSEC
#define NANOSEC 1000000000
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Nanoseconds since some moment in the past, the same one for all processes until the next boot.
 *  Never goes back and is never set. May be called anywhere, signal handlers included. */
hrtime_t gethrtime(void);

/** Nanoseconds that the calling thread has used of processors, in user and kernel mode. */
hrtime_t gethrvtime(void);

#ifdef __cplusplus
}
#endif

#endif
