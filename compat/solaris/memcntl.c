/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

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
