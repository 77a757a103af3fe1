/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/target.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pageswap/vma.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum outcome { RESERVED, TAKEN, REFUSED };

static enum outcome reserve(uintptr_t start, uintptr_t end)
{
    void *wanted = (void *)start;
    void *made = mmap(wanted, end - start, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (made == wanted)
        return RESERVED;
    if (made == MAP_FAILED)
        return errno == EEXIST ? TAKEN : REFUSED;
    munmap(made, end - start); /* by a kernel that takes the flag for no more than a hint */
    return TAKEN;
}

/* False: there is no room to note it. */
static bool reserve_gap(struct rsmcore_target *target, uintptr_t start, uintptr_t end)
{
    if (target->count == RSMCORE_TARGET_GAPS)
        return false;
    if (reserve(start, end) == RESERVED) {
        target->gap[target->count].start = start;
        target->gap[target->count].end = end;
        target->count++;
    }
    return true;
}

static bool reserve_gaps(struct rsmcore_target *target, uintptr_t start, uintptr_t end)
{
    struct rsmcore_vma_reader reader;
    struct rsmcore_vma vma;
    bool noted = true;
    if (!rsmcore_vma_open(&reader, 0, start))
        return true;
    uintptr_t at = start;
    while (noted && at < end && rsmcore_vma_next(&reader, &vma)) {
        uintptr_t until = vma.start < end ? vma.start : end;
        if (at < until)
            noted = reserve_gap(target, at, until);
        at = vma.end > at ? vma.end : at;
    }
    if (noted && at < end)
        noted = reserve_gap(target, at, end);
    rsmcore_vma_close(&reader);
    return noted;
}

enum rsm_status rsmcore_target_hold(struct rsmcore_target *target, void *address, size_t length)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)address, end = start + (length + page - 1) / page * page;
    target->count = 0;
    if (start == 0 || start % page != 0 || end <= start)
        return RSM_ST_OK; /* which the transport refuses */
    switch (reserve(start, end)) {
    case RESERVED:
        target->gap[0].start = start;
        target->gap[0].end = end;
        target->count = 1;
        return RSM_ST_OK;
    case REFUSED:
        return RSM_ST_OK;
    case TAKEN:
        break;
    }
    if (reserve_gaps(target, start, end))
        return RSM_ST_OK;
    rsmcore_target_release(target);
    return RSM_ST_MAP_FAILED;
}

void rsmcore_target_release(const struct rsmcore_target *target)
{
    for (unsigned i = 0; i < target->count; i++)
        munmap((void *)target->gap[i].start, target->gap[i].end - target->gap[i].start);
}
