/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "pageswap/exchange.h"
#include "pageswap/pageswap.h"
#include "pageswap/range.h"
#include "pageswap/vma.h"
#include "base/status.h"

static void unmap_alias(const struct rsmcore_origin_run *run)
{
    if (run->origin.kind == RSMCORE_ORIGIN_SHARED)
        munmap((void *)run->origin.alias, run->length);
}

static void unmap_aliases(const struct rsmcore_origin_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        unmap_alias(&runs[i]);
}

/* Map the same shared memory a second time, for the time that the memfd is in its place. */
static enum rsm_status make_alias(struct rsmcore_origin_run *run)
{
    void *alias = mremap((void *)run->start, 0, run->length, MREMAP_MAYMOVE);
    if (alias == MAP_FAILED)
        return RSM_ST_NO_MEMORY;
    /* A child must not keep the original attached: it does not know of it, and would count as a
     * sharer at the next export. */
    (void)madvise(alias, run->length, MADV_DONTFORK);
    run->origin.alias = (uintptr_t)alias;
    return RSM_ST_OK;
}

static enum rsm_status add_run(struct rsmcore_origin_run *runs, size_t *count,
                               const struct rsmcore_part *part)
{
    struct rsmcore_origin_run run = {.start = part->vma.start,
                                     .length = part->vma.end - part->vma.start,
                                     .origin = {.kind = part->backing == RSMCORE_BACKING_PRIVATE
                                                            ? RSMCORE_ORIGIN_PRIVATE
                                                            : RSMCORE_ORIGIN_SHARED,
                                                .executable = part->vma.protection & PROT_EXEC}};
    struct rsmcore_origin_run *last = *count > 0 ? &runs[*count - 1] : NULL;
    if (run.origin.kind == RSMCORE_ORIGIN_SHARED) {
        enum rsm_status status = make_alias(&run);
        if (status != RSM_ST_OK)
            return status;
    } else if (last != NULL && last->origin.kind == RSMCORE_ORIGIN_PRIVATE &&
               last->origin.executable == run.origin.executable) {
        last->length += run.length;
        return RSM_ST_OK;
    }
    runs[(*count)++] = run;
    return RSM_ST_OK;
}

static enum rsm_status make_runs(const struct rsmcore_parts *parts,
                                 struct rsmcore_origin_run **runs, size_t *count)
{
    *count = 0;
    *runs = calloc(parts->count, sizeof **runs);
    if (*runs == NULL)
        return RSM_ST_NO_MEMORY;
    for (size_t i = 0; i < parts->count; i++) {
        enum rsm_status status = add_run(*runs, count, &parts->list[i]);
        if (status != RSM_ST_OK) {
            unmap_aliases(*runs, *count);
            free(*runs);
            return status;
        }
    }
    return RSM_ST_OK;
}

bool rsmcore_swap_file_of(int fd, struct rsmcore_swap_file *file)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return false;
    *file = (struct rsmcore_swap_file){.device = status.st_dev, .inode = status.st_ino, .fd = fd};
    return true;
}

static bool is_file(const struct rsmcore_vma *vma, int fd)
{
    struct rsmcore_swap_file file;
    return vma->shared && rsmcore_swap_file_of(fd, &file) && vma->device == file.device &&
           vma->inode == file.inode;
}

/* A child on its way from fork to exec has all the memory of its parent, and gives it up by
 * itself. */
static bool is_shared(const struct rsmcore_vma *vma, int64_t deadline)
{
    enum rsmcore_sharers sharers = rsmcore_sharers_of(vma);
    while (sharers == RSMCORE_SHARERS_OTHERS && !rsm_deadline_has_passed(deadline)) {
        nanosleep(&(struct timespec){.tv_nsec = RSM_NS_PER_MS}, NULL);
        sharers = rsmcore_sharers_of(vma);
    }
    return sharers != RSMCORE_SHARERS_NONE;
}

/* RSM_ST_BUSY if shared memory among the parts, other than the memfd @p except, has sharers. */
static enum rsm_status check_sharers(const struct rsmcore_parts *parts, int except)
{
    int64_t deadline = rsm_deadline(RSMCORE_SHARERS_WAIT_MS);
    for (size_t i = 0; i < parts->count; i++) {
        const struct rsmcore_part *part = &parts->list[i];
        if (part->backing != RSMCORE_BACKING_PRIVATE && !is_file(&part->vma, except) &&
            is_shared(&part->vma, deadline))
            return RSM_ST_BUSY;
    }
    return RSM_ST_OK;
}

/* Whether a range can be swapped, and its parts, to be freed in any case. */
static enum rsm_status examine(uintptr_t address, size_t length, unsigned flags, int except,
                               const void *frame, struct rsmcore_parts *parts)
{
    enum rsm_status status = rsmcore_range_parts(address, length, flags, parts);
    if (status == RSM_ST_OK && rsmcore_range_is_in_use(address, length, frame))
        status = RSM_ST_FAULT;
    return status == RSM_ST_OK ? check_sharers(parts, except) : status;
}

static void take_out_again(const struct rsmcore_origin_run *runs, size_t count, uintptr_t base,
                           const struct rsmcore_swap_file *file, uint64_t offset)
{
    for (size_t i = 0; i < count; i++)
        if (rsmcore_exchange_out(&runs[i], file, offset + (runs[i].start - base)) != RSM_ST_OK)
            rsm_log_error("page swap: out of memory while undoing a swap at %#lx",
                          (unsigned long)runs[i].start);
}

enum rsm_status rsmcore_swap_in(uintptr_t address, size_t length, unsigned flags, int fd,
                                uint64_t offset, struct rsmcore_origin_run **runs, size_t *count)
{
    struct rsmcore_parts parts = {NULL, 0};
    struct rsmcore_origin_run *made;
    size_t made_count;
    struct rsmcore_swap_file file;
    if (!rsmcore_swap_file_of(fd, &file))
        return RSM_ST_NO_MEMORY;
    enum rsm_status status =
        examine(address, length, flags, -1, __builtin_frame_address(0), &parts);
    if (status == RSM_ST_OK)
        status = make_runs(&parts, &made, &made_count);
    if (status != RSM_ST_OK)
        goto free_parts;
    status = rsmcore_exchange_in(&parts, address, fd, offset, flags & RSMCORE_SWAP_FRESH);
    if (status == RSM_ST_OK) {
        *runs = made;
        *count = made_count;
    } else {
        take_out_again(made, made_count, address, &file, offset);
        unmap_aliases(made, made_count);
        free(made);
    }
free_parts:
    free(parts.list);
    return status;
}

enum rsm_status rsmcore_swap_out(const struct rsmcore_origin_run *run,
                                 const struct rsmcore_swap_file *file, uint64_t offset)
{
    enum rsm_status status = rsmcore_exchange_out(run, file, offset);
    if (status == RSM_ST_OK)
        unmap_alias(run);
    return status;
}

/* The parts of the runs that are the memfd now. */
static enum rsm_status parts_that_are_in(const struct rsmcore_origin_run *runs, size_t count,
                                         const struct rsmcore_swap_file *file, uint64_t offset,
                                         struct rsmcore_parts *parts)
{
    enum rsm_status status = RSM_ST_OK;
    for (size_t i = 0; i < count && status == RSM_ST_OK; i++) {
        struct rsmcore_vma vma;
        uintptr_t end = runs[i].start + runs[i].length;
        uint64_t run_offset = offset + (runs[i].start - runs[0].start);
        for (uintptr_t at = runs[i].start; at < end && status == RSM_ST_OK; at = vma.end) {
            status = rsmcore_vma_find(at, &vma);
            if (status != RSM_ST_OK || vma.start >= end)
                break;
            rsmcore_vma_clip(&vma, at, end);
            if (rsmcore_exchange_is_in(&runs[i], file, run_offset, &vma))
                status = rsmcore_range_add(parts, &vma, RSMCORE_BACKING_MEMORY);
        }
        if (status == RSM_ST_NOT_FOUND) /* the application has unmapped the rest */
            status = RSM_ST_OK;
    }
    return status;
}

static size_t total_length(const struct rsmcore_origin_run *runs, size_t count)
{
    return count == 0 ? 0 : runs[count - 1].start + runs[count - 1].length - runs[0].start;
}

/* Undo the first half of a move. Parts that were not taken out yet may be among these, it does not
 * matter: the memfd takes its own place. */
static void put_back(const struct rsmcore_parts *parts, const struct rsmcore_origin_run *runs,
                     int fd, uint64_t offset)
{
    enum rsm_status status = RSM_ST_OK;
    for (size_t i = 0; i < parts->count && status == RSM_ST_OK; i++) {
        /* The application may have made it read-only, which is no way to swap. */
        struct rsmcore_part part = parts->list[i];
        void *start = (void *)part.vma.start;
        size_t length = part.vma.end - part.vma.start;
        int protection = part.vma.protection;
        part.vma.protection |= PROT_READ | PROT_WRITE;
        if (part.vma.protection != protection && mprotect(start, length, part.vma.protection) != 0)
            status = RSM_ST_NO_MEMORY;
        if (status == RSM_ST_OK)
            status = rsmcore_exchange_in(&(struct rsmcore_parts){&part, 1}, runs[0].start, fd,
                                         offset, false);
        if (part.vma.protection != protection)
            (void)mprotect(start, length, protection);
    }
    if (status != RSM_ST_OK)
        rsm_log_error("page swap: cannot undo a move from %#lx: %s", (unsigned long)runs[0].start,
                      rsmcore_status_text(status));
}

enum rsm_status rsmcore_swap_move(const struct rsmcore_origin_run *from_runs, size_t from_count,
                                  uintptr_t to, int fd, uint64_t offset,
                                  struct rsmcore_origin_run **runs, size_t *count)
{
    struct rsmcore_parts target = {NULL, 0}, before = {NULL, 0};
    size_t length = total_length(from_runs, from_count);
    struct rsmcore_swap_file file;
    if (!rsmcore_swap_file_of(fd, &file))
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = examine(to, length, RSMCORE_RANGE_ALLOW_SHARED_FILE, fd,
                                     __builtin_frame_address(0), &target);
    if (status == RSM_ST_OK)
        status = parts_that_are_in(from_runs, from_count, &file, offset, &before);
    if (status != RSM_ST_OK)
        goto free_parts;

    /* The aliases of from_runs stay until nothing can fail any more. */
    for (size_t i = 0; i < from_count && status == RSM_ST_OK; i++)
        status = rsmcore_exchange_out(&from_runs[i], &file,
                                      offset + (from_runs[i].start - from_runs[0].start));
    if (status == RSM_ST_OK)
        status =
            rsmcore_swap_in(to, length, RSMCORE_RANGE_ALLOW_SHARED_FILE, fd, offset, runs, count);
    if (status == RSM_ST_OK)
        unmap_aliases(from_runs, from_count);
    else
        put_back(&before, from_runs, fd, offset);
free_parts:
    free(target.list);
    free(before.list);
    return status;
}
