/* SPDX-License-Identifier: BSD-3-Clause */
#include "pageswap/range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"

/* Stack that the functions of a swap may use below the outermost one. */
#define STACK_RESERVE ((uintptr_t)64 * 1024)

enum rsm_status rsmcore_range_add(struct rsmcore_parts *parts, const struct rsmcore_vma *vma,
                                  enum rsmcore_backing backing)
{
    struct rsmcore_part *list = realloc(parts->list, (parts->count + 1) * sizeof *list);
    if (list == NULL)
        return RSM_ST_NO_MEMORY;
    list[parts->count++] = (struct rsmcore_part){.vma = *vma, .backing = backing};
    parts->list = list;
    return RSM_ST_OK;
}

static enum rsm_status check_vma(const struct rsmcore_vma *vma, unsigned flags,
                                 enum rsmcore_backing *backing)
{
    const int needed = PROT_READ | PROT_WRITE;
    *backing = rsmcore_backing_of(vma);
    if (*backing == RSMCORE_BACKING_UNSUITABLE ||
        (*backing == RSMCORE_BACKING_FILE && !(flags & RSMCORE_RANGE_ALLOW_SHARED_FILE)))
        return RSM_ST_FAULT;
    return (vma->protection & needed) == needed ? RSM_ST_OK : RSM_ST_DENIED;
}

static enum rsm_status check_bounds(uintptr_t address, size_t length)
{
    uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (address % page_size != 0 || length % page_size != 0)
        return RSM_ST_ALIGNMENT;
    return length == 0 || address + length < address ? RSM_ST_FAULT : RSM_ST_OK;
}

/* Walk over the mappings of the range; parts may be NULL. A hole or unsuitable memory anywhere
 * outweighs a lack of rights. */
static enum rsm_status walk(uintptr_t address, size_t length, unsigned flags,
                            struct rsmcore_parts *parts)
{
    struct rsmcore_vma_reader reader;
    struct rsmcore_vma vma;
    enum rsm_status result = RSM_ST_OK;
    uintptr_t end = address + length;
    if (!rsmcore_vma_open(&reader, 0, address)) {
        int error = errno;
        rsm_log_error("cannot look at this process's mappings: %s",
                      error == ENOENT ? "/proc is not mounted, or not to be seen"
                                      : strerror(error));
        return RSM_ST_NO_RESOURCES;
    }
    while (address < end && rsmcore_vma_next(&reader, &vma)) {
        if (vma.start > address)
            break;
        rsmcore_vma_clip(&vma, address, end);
        enum rsmcore_backing backing;
        enum rsm_status status = check_vma(&vma, flags, &backing);
        if (status == RSM_ST_OK && parts != NULL)
            status = rsmcore_range_add(parts, &vma, backing);
        if (status != RSM_ST_OK && result != RSM_ST_FAULT)
            result = status;
        address = vma.end;
    }
    rsmcore_vma_close(&reader);
    if (address < end)
        return reader.file.failed ? RSM_ST_NO_RESOURCES : RSM_ST_FAULT;
    return result;
}

enum rsm_status rsmcore_range_parts(uintptr_t address, size_t length, unsigned flags,
                                    struct rsmcore_parts *parts)
{
    enum rsm_status status = check_bounds(address, length);
    return status == RSM_ST_OK ? walk(address, length, flags, parts) : status;
}

bool rsmcore_range_is_in_use(uintptr_t address, size_t length, const void *frame)
{
    uintptr_t top = (uintptr_t)frame;
    uintptr_t error_number = (uintptr_t)&errno;
    uintptr_t end = address + length;
    return (address <= top && end > top - STACK_RESERVE) ||
           (address <= error_number && end > error_number);
}

enum rsm_status rsmcore_range_check(uintptr_t address, size_t length, unsigned flags)
{
    enum rsm_status status = rsmcore_range_parts(address, length, flags, NULL);
    if (status == RSM_ST_OK && rsmcore_range_is_in_use(address, length, __builtin_frame_address(0)))
        return RSM_ST_FAULT;
    return status;
}
