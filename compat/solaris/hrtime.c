/* SPDX-License-Identifier: BSD-3-Clause */
#include <sys/time.h>

static hrtime_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now); /* fails for clocks that do not exist only */
    return (hrtime_t)now.tv_sec * NANOSEC + now.tv_nsec;
}

hrtime_t gethrtime(void)
{
    return nanoseconds(CLOCK_MONOTONIC);
}

hrtime_t gethrvtime(void)
{
    return nanoseconds(CLOCK_THREAD_CPUTIME_ID);
}
