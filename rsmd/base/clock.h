/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A clock that never jumps. */
#ifndef RSMD_CLOCK_H
#define RSMD_CLOCK_H

#include <stdint.h>
#include <time.h>

/** Nanoseconds; makes no system call. */
static inline int64_t rsmd_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
