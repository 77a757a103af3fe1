/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process asks of its system: clocks, locks of memory, its own name and rights */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

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

static int fail(int error)
{
    errno = error;
    return -1;
}

static int on_range(void *addr, size_t len, int cmd, int value)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if ((uintptr_t)addr % page != 0)
        return fail(EINVAL);
    switch (cmd) {
    case MC_SYNC:
        return msync(addr, len, value);
    case MC_LOCK:
        return mlock(addr, len);
    case MC_UNLOCK:
        return munlock(addr, len);
    default: /* MC_ADVISE */
        return madvise(addr, len, value);
    }
}

int memcntl(caddr_t addr, size_t len, int cmd, caddr_t arg, int attr, int mask)
{
    int value = (int)(intptr_t)arg;
    if (mask != 0)
        return fail(EINVAL);
    if (attr != 0)
        return fail(ENOTSUP);
    switch (cmd) {
    case MC_SYNC:
    case MC_LOCK:
    case MC_UNLOCK:
    case MC_ADVISE:
        return on_range(addr, len, cmd, value);
    case MC_LOCKAS:
    case MC_UNLOCKAS:
        if (addr != NULL || len != 0)
            return fail(EINVAL);
        return cmd == MC_LOCKAS ? mlockall(value) : munlockall();
    default:
        return fail(EINVAL);
    }
}

static char exec_name[PATH_MAX];

static void find_exec_name(void)
{
    ssize_t length = readlink("/proc/self/exe", exec_name, sizeof(exec_name) - 1);
    exec_name[length > 0 ? length : 0] = '\0';
}

const char *getexecname(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_exec_name);
    return exec_name[0] != '\0' ? exec_name : NULL;
}

pid_t fork1(void)
{
    return fork();
}

int issetugid(void)
{
    return getauxval(AT_SECURE) != 0;
}
