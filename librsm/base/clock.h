/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The clock, and deadlines by it: CLOCK_MONOTONIC, in nanoseconds. Any thread may use it,
 *  also in a signal handler. */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define RSM_NS_PER_US INT64_C(1000)
#define RSM_NS_PER_MS INT64_C(1000000)
#define RSM_NS_PER_S  INT64_C(1000000000)

/** Nanoseconds since some moment before this process started. */
static inline int64_t rsm_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * RSM_NS_PER_S + now.tv_nsec;
}

/** The same in whole milliseconds. */
static inline int64_t rsm_clock_ms(void)
{
    return rsm_clock_ns() / RSM_NS_PER_MS;
}

/** For calls that take a time or a length of time so. */
static inline struct timespec rsm_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / RSM_NS_PER_S),
                             .tv_nsec = (long)(ns % RSM_NS_PER_S)};
}

/** A deadline that never comes. */
#define RSM_DEADLINE_NEVER INT64_MAX

/** What rsm_clock_ns() shows in @p timeout_ms milliseconds; a negative time-out is none. */
static inline int64_t rsm_deadline(int64_t timeout_ms)
{
    return timeout_ms < 0 ? RSM_DEADLINE_NEVER : rsm_clock_ns() + timeout_ms * RSM_NS_PER_MS;
}

static inline bool rsm_deadline_has_passed(int64_t deadline)
{
    return deadline != RSM_DEADLINE_NEVER && rsm_clock_ns() >= deadline;
}

/** Milliseconds until @p deadline, for poll(2): 0 if it has passed, -1 if it never comes. They are
 *  rounded up, so no wait is over before its time. */
static inline int rsm_deadline_left_ms(int64_t deadline)
{
    if (deadline == RSM_DEADLINE_NEVER)
        return -1;
    int64_t left = deadline - rsm_clock_ns();
    int64_t ms = (left + RSM_NS_PER_MS - 1) / RSM_NS_PER_MS;
    return left <= 0 ? 0 : ms < INT_MAX ? (int)ms : INT_MAX;
}

/** Make a condition variable whose pthread_cond_timedwait(3) takes rsm_timespec() of deadlines. */
static inline void rsm_cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}
