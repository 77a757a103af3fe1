/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the synchronisation objects share. */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <synch.h>
#include <sys/time.h>
#include <time.h>

/** Solaris's number where POSIX says that the time is over. */
static inline int rsm_solaris_timed(int error)
{
    return error == ETIMEDOUT ? ETIME : error;
}

/** Is that a point or length of time? */
static inline int rsm_solaris_check_time(const struct timespec *time)
{
    return time == NULL || time->tv_sec < 0 || time->tv_nsec < 0 || time->tv_nsec >= NANOSEC
               ? EINVAL
               : 0;
}

/** The point of CLOCK_MONOTONIC that is @p limit from now; the last one where there is none. */
static inline struct timespec rsm_solaris_deadline(const struct timespec *limit)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_nsec += limit->tv_nsec;
    if (deadline.tv_nsec >= NANOSEC) {
        deadline.tv_nsec -= NANOSEC;
        deadline.tv_sec++;
    }
    if (__builtin_add_overflow(deadline.tv_sec, limit->tv_sec, &deadline.tv_sec))
        deadline.tv_sec = sizeof(time_t) == 8 ? (time_t)INT64_MAX : (time_t)INT32_MAX;
    return deadline;
}

/** PTHREAD_PROCESS_ value of a type that is USYNC_THREAD or USYNC_PROCESS in @p *shared; EINVAL. */
static inline int rsm_solaris_sharing(int type, int *shared)
{
    if (type != USYNC_THREAD && type != USYNC_PROCESS)
        return EINVAL;
    *shared = type == USYNC_PROCESS ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
    return 0;
}
