/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How long the event loop was at work before it looked for events again. A step is one round of the
 * loop: all that it does between two waits. While a step lasts, every client and every link waits. Steps are measured in processor time of the thread, so that other processes of
 * the host do not count.
 */
#ifndef RSMD_STEPS_H
#define RSMD_STEPS_H

#include <stdint.h>
#include <time.h>

struct rsmd_steps {
    int64_t begun_ns;   /**< processor time of the thread when this step began */
    int64_t longest_ns; /**< so far */
};

/** Processor time of the calling thread, in nanoseconds. A system call. */
static inline int64_t rsmd_processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/** The thread's next step begins. */
static inline void rsmd_steps_begin(struct rsmd_steps *steps)
{
    steps->begun_ns = rsmd_processor_ns();
}

/** A step is over, and the next one begins. */
static inline void rsmd_steps_next(struct rsmd_steps *steps)
{
    int64_t now = rsmd_processor_ns();
    if (now - steps->begun_ns > steps->longest_ns)
        steps->longest_ns = now - steps->begun_ns;
    steps->begun_ns = now;
}

#endif
