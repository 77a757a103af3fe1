/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What old examples and benchmarks take from their helper library's header beside the API:
 *  a stopwatch and a sleep. Nothing here is a symbol of libsisci. It lies in this directory alone,
 *  because other software has a header of this name, too. */
#ifndef SISCI_TESTLIB_H
#define SISCI_TESTLIB_H

#include <sys/select.h>
#include <sys/time.h>

#include "sisci_api.h"

#ifndef FALSE
#define FALSE 0
#endif
#ifndef TRUE
#define TRUE 1
#endif

/** When a stopwatch was started. */
typedef struct {
    struct timeval begun;
} timer_start_t;

static __inline__ void StartTimer(timer_start_t *timer)
{
    (void)gettimeofday(&timer->begun, NULL);
}

/** Microseconds since StartTimer(). The stopwatch goes on. */
static __inline__ double StopTimer(timer_start_t timer)
{
    struct timeval now;
    (void)gettimeofday(&now, NULL);
    return (double)(now.tv_sec - timer.begun.tv_sec) * 1e6 +
           (double)(now.tv_usec - timer.begun.tv_usec);
}

static __inline__ void SleepMilliseconds(int milliseconds)
{
    struct timeval left;
    left.tv_sec = milliseconds / 1000;
    left.tv_usec = milliseconds % 1000 * 1000;
    (void)select(0, NULL, NULL, NULL, &left);
}

#endif
