/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The clock that deadlines are measured by: CLOCK_MONOTONIC. Any thread may read it. */
#ifndef RSM_BASE_CLOCK_H
#define RSM_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/** Nanoseconds since some moment before this process started. */
static inline int64_t rsm_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/** The same in whole milliseconds. */
static inline int64_t rsm_clock_ms(void)
{
    return rsm_clock_ns() / 1000000;
}

/** Milliseconds until the clock shows @p end, rounded up so that nobody is told of a time-out
 * before its time. A time-out that is none, 0 or negative, is returned as it is. */
static inline int rsm_clock_left_ms(int64_t end, int timeout_ms)
{
    if (timeout_ms <= 0)
        return timeout_ms;
    int64_t left = end - rsm_clock_ns();
    return left <= 0 ? 0 : (int)((left + 999999) / 1000000);
}

#endif
