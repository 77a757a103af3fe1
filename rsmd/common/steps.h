/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The longest step of the event loop. A step is one round of the loop: all that it does between two
 * waits. While a step lasts, every client and every link waits. Steps are measured in processor
 * time of the thread, so that other processes of the host do not count.
 *
 * Reading that clock is a system call, too expensive for a round of a few microseconds.
 * rsm_clock_ns() makes none, and a thread's processor time never advances faster. So the processor
 * time is read only at the end of rounds that end RSMD_STEPS_UNREAD_NS or more after the last
 * reading. The difference belongs to that step and to unread ones before it, which took less than
 * RSMD_STEPS_UNREAD_NS together: the reported longest step is not too short, and at most that much
 * too long.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/clock.h"

enum { RSMD_STEPS_UNREAD_NS = 100000 };

struct rsmd_steps {
    int64_t read_at_ns; /**< when the processor time was last read, by rsm_clock_ns() */
    int64_t read_ns;    /**< the thread's processor time then */
    int64_t longest_ns; /**< so far */
};

/** Processor time of the calling thread, in nanoseconds. A system call. */
static inline int64_t rsmd_processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/** Begin the thread's next step. */
static inline void rsmd_steps_begin(struct rsmd_steps *steps)
{
    steps->read_at_ns = rsm_clock_ns();
    steps->read_ns = rsmd_processor_ns();
}

/** End a step, and begin the next one. */
static inline void rsmd_steps_next(struct rsmd_steps *steps)
{
    int64_t now = rsm_clock_ns();
    if (now - steps->read_at_ns < RSMD_STEPS_UNREAD_NS)
        return;
    int64_t used = rsmd_processor_ns();
    if (used - steps->read_ns > steps->longest_ns)
        steps->longest_ns = used - steps->read_ns;
    steps->read_at_ns = now;
    steps->read_ns = used;
}
