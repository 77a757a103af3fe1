/* SPDX-License-Identifier: BSD-3-Clause */
#include "region/region.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory_limit.h"
#include "base/sealed.h"
#include "pageswap/pageswap.h"
#include "region/region_extent.h"
#include "region/region_set.h"
#include "base/status.h"

/* Every extent is looked at before it is mapped: whether accesses to a mapping of it never raise a
 * signal. Of a memfd the seal says so; of anything else, which rsmd describes, the transport that
 * knows the device. */
static bool is_usable(struct rsmcore_extent *extent, const struct rsmcore_extent_source *source,
                      size_t length)
{
    const struct rsm_extent_about *about = &extent->about;
    int fd = extent->file.fd;
    bool usable = about->length >= length;
    if (about->kind == RSM_EXTENT_MEMFD)
        usable = usable && about->offset == 0 && rsm_is_sealed_memory(fd, length);
    else
        usable = usable && about->kind == RSM_EXTENT_DEVICE &&
                 about->offset % (uint64_t)sysconf(_SC_PAGESIZE) == 0 &&
                 about->offset <= INT64_MAX - (uint64_t)length &&
                 source->check(source->context, fd, about->offset, length) == RSM_ST_OK;
    usable = usable && rsmcore_swap_file_of(fd, &extent->file);
    if (!usable)
        rsm_log_error("rsmd gave an extent that is no memory of %zu bytes which stays", length);
    return usable;
}

/* Put pages that are on no extent onto this one, which is given back if that fails.
 * RSM_ST_PROTOCOL: rsmd gave something else than memory of that length that stays there. */
static enum rsm_status put_on_extent(struct rsmcore_extent *extent,
                                     const struct rsmcore_extent_source *source, uintptr_t start,
                                     size_t length)
{
    struct rsmcore_origin_run *runs;
    size_t count;
    uint64_t base = extent->about.offset;
    /* A device's memory is a part of what others have, too. */
    unsigned flags = extent->about.kind == RSM_EXTENT_MEMFD ? RSMCORE_SWAP_FRESH : 0;
    enum rsm_status status = RSM_ST_PROTOCOL;
    if (!is_usable(extent, source, length))
        goto give_back_extent;
    status = rsmcore_swap_in(start, length, flags, extent->file.fd, base, &runs, &count);
    if (status != RSM_ST_OK)
        goto give_back_extent;
    status = rsmcore_regions_register(runs, count, extent, start, base, NULL);
    if (status != RSM_ST_OK)
        for (size_t i = 0; i < count; i++)
            (void)rsmcore_swap_out(&runs[i], &extent->file, base + (runs[i].start - start));
    free(runs);
    if (status == RSM_ST_OK) {
        rsmcore_extent_let_go(extent);
        return RSM_ST_OK;
    }

give_back_extent:
    rsmcore_extent_free(extent);
    return status;
}

static enum rsm_status cover_hole(struct rsmcore_control *control,
                                  const struct rsmcore_extent_source *source, uintptr_t start,
                                  size_t length)
{
    struct rsmcore_extent *extent;
    enum rsm_status status = rsmcore_extent_take(control, source->controller, length, &extent);
    return status == RSM_ST_OK ? put_on_extent(extent, source, start, length) : status;
}

bool rsmcore_region_is_bare(uintptr_t start, size_t length)
{
    return rsmcore_regions_first(start, start + length) == NULL;
}

enum rsm_status rsmcore_region_cover_with(struct rsmcore_control *control,
                                          const struct rsmcore_extent_source *source, uint32_t id,
                                          int fd, const struct rsm_extent_about *about,
                                          uintptr_t start, size_t length)
{
    struct rsmcore_extent *extent = rsmcore_extent_of(control, id, fd, about);
    return extent != NULL ? put_on_extent(extent, source, start, length) : RSM_ST_NO_MEMORY;
}

static enum rsm_status map_extent(struct rsmcore_extent *extent,
                                  const struct rsmcore_extent_source *source, size_t length,
                                  uintptr_t *start)
{
    uint64_t base = extent->about.offset;
    if (!is_usable(extent, source, length))
        return RSM_ST_PROTOCOL;
    void *mapped =
        mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, extent->file.fd, (off_t)base);
    if (mapped == MAP_FAILED)
        return rsmcore_status_from_errno(errno);
    const struct rsmcore_origin_run run = {
        .start = (uintptr_t)mapped, .length = length, .origin = {.kind = RSMCORE_ORIGIN_PRIVATE}};
    enum rsm_status status = rsmcore_regions_register(&run, 1, extent, run.start, base, NULL);
    if (status == RSM_ST_OK)
        rsmcore_extent_let_go(extent);
    else
        munmap(mapped, length);
    *start = run.start;
    return status;
}

enum rsm_status rsmcore_region_map(struct rsmcore_control *control,
                                   const struct rsmcore_extent_source *source, uint32_t id, int fd,
                                   const struct rsm_extent_about *about, size_t length,
                                   uintptr_t *start)
{
    struct rsmcore_extent *extent = rsmcore_extent_of(control, id, fd, about);
    if (extent == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = map_extent(extent, source, length, start);
    if (status != RSM_ST_OK)
        rsmcore_extent_free(extent);
    return status;
}

void rsmcore_region_unmap(uintptr_t start, size_t length)
{
    uintptr_t end = start + length;
    /* Where there is no memory for that, a region that reaches beyond the range stays for its
     * owner. */
    (void)rsmcore_regions_split_at_ends(start, end);
    munmap((void *)start, length);
    struct rsmcore_region *next;
    for (struct rsmcore_region *region = rsmcore_regions_first(start, end); region != NULL;
         region = next) {
        next = rsmcore_regions_next(region, start, end);
        if (region->run.start >= start && rsmcore_region_end(region) <= end)
            rsmcore_regions_discard(region);
    }
}

void rsmcore_region_give_back(struct rsmcore_control *control, uint32_t id, int fd)
{
    rsmcore_extent_give_back(control, id, fd);
}

/* What goes back to private pages is there twice for a while. */
static bool has_room_outside(const struct rsmcore_origin_run *run)
{
    return run->origin.kind != RSMCORE_ORIGIN_PRIVATE || rsm_memory_fits(run->length);
}

enum rsm_status rsmcore_region_uncover(uintptr_t start, size_t length)
{
    uintptr_t end = start + length;
    enum rsm_status status = rsmcore_regions_split_at_ends(start, end);
    if (status != RSM_ST_OK)
        return status;
    for (struct rsmcore_region *region; (region = rsmcore_regions_first(start, end)) != NULL;
         rsmcore_regions_discard(region)) {
        status = has_room_outside(&region->run)
                     ? rsmcore_swap_out(&region->run, &region->extent->file, region->offset)
                     : RSM_ST_NO_MEMORY;
        if (status != RSM_ST_OK) {
            rsm_log_error("cannot take %zu bytes at %#lx back from their extent: %s",
                          region->run.length, (unsigned long)region->run.start,
                          rsmcore_status_text(status));
            return status;
        }
    }
    return RSM_ST_OK;
}

enum rsm_status rsmcore_region_uncover_stale(struct rsmcore_control *control, uintptr_t start,
                                             size_t length)
{
    uintptr_t end = start + length;
    for (uintptr_t at = start; at < end;) {
        const struct rsmcore_region *region = rsmcore_regions_first(at, end);
        if (region == NULL)
            break;
        uintptr_t from = region->run.start > at ? region->run.start : at;
        at = rsmcore_region_end(region) < end ? rsmcore_region_end(region) : end;
        enum rsm_status status = region->extent->control != control
                                     ? rsmcore_region_uncover(from, at - from)
                                     : RSM_ST_OK;
        if (status != RSM_ST_OK)
            return status;
    }
    return RSM_ST_OK;
}

enum rsm_status rsmcore_region_cover(struct rsmcore_control *control,
                                     const struct rsmcore_extent_source *source, uintptr_t start,
                                     size_t length)
{
    uintptr_t end = start + length;
    uintptr_t at = start;
    struct {
        uintptr_t start;
        size_t length;
    } covered[RSM_PROTO_PIECES_MAX];
    unsigned holes = 0;
    enum rsm_status status = rsmcore_region_uncover_stale(control, start, length);

    while (at < end && status == RSM_ST_OK) {
        const struct rsmcore_region *region = rsmcore_regions_first(at, end);
        if (region != NULL && region->run.start <= at) {
            at = rsmcore_region_end(region);
            continue;
        }
        uintptr_t until = region != NULL ? region->run.start : end;
        status = holes < RSM_PROTO_PIECES_MAX ? cover_hole(control, source, at, until - at)
                                              : RSM_ST_NO_RESOURCES;
        if (status != RSM_ST_OK)
            break;
        covered[holes].start = at;
        covered[holes++].length = until - at;
        at = until;
    }
    if (status != RSM_ST_OK)
        while (holes-- > 0)
            (void)rsmcore_region_uncover(covered[holes].start, covered[holes].length);
    return status;
}

bool rsmcore_region_next(uintptr_t *start, size_t *length)
{
    const struct rsmcore_region *region = rsmcore_regions_first_after(*start);
    if (region == NULL)
        return false;
    if (region->run.start > *start)
        *start = region->run.start;
    *length = rsmcore_region_end(region) - *start;
    return true;
}

enum rsm_status rsmcore_region_pieces(uintptr_t start, size_t length,
                                      struct rsm_segment_piece *pieces, uint32_t max,
                                      uint32_t *count)
{
    uintptr_t end = start + length;
    uintptr_t at = start;
    *count = 0;
    for (struct rsmcore_region *r = rsmcore_regions_first(start, end); r != NULL;
         r = rsmcore_regions_next(r, start, end)) {
        if (r->run.start > at)
            return RSM_ST_FAULT;
        uint64_t offset = r->offset - r->extent->about.offset + (at - r->run.start);
        uint64_t size = (rsmcore_region_end(r) < end ? rsmcore_region_end(r) : end) - at;
        struct rsm_segment_piece *last = *count > 0 ? &pieces[*count - 1] : NULL;
        if (last != NULL && last->extent == r->extent->id && last->offset + last->length == offset)
            last->length += size;
        else if (*count == max)
            return RSM_ST_NO_RESOURCES;
        else
            pieces[(*count)++] = (struct rsm_segment_piece){
                .extent = r->extent->id, .offset = offset, .length = size};
        at += size;
    }
    return at == end ? RSM_ST_OK : RSM_ST_FAULT;
}

/* Map a part of a region once more, over what is at @p target. */
static bool show_part(const struct rsmcore_region *region, uintptr_t from, size_t length,
                      int protection, uint8_t *target)
{
    int fd = region->extent->file.fd;
    off_t offset = (off_t)(region->offset + (from - region->run.start));
    if (fd >= 0) /* device memory among it, which mremap(2) refuses to show twice */
        return mmap(target, length, protection, MAP_SHARED | MAP_FIXED, fd, offset) != MAP_FAILED;
    /* An old length of 0: shared pages once more, where they are already stays as it is. */
    return mremap((void *)from, 0, length, MREMAP_MAYMOVE | MREMAP_FIXED, target) != MAP_FAILED &&
           mprotect(target, length, protection) == 0;
}

enum rsm_status rsmcore_region_show(uintptr_t start, size_t length, int protection, void *at)
{
    uintptr_t end = start + length, from = start;
    for (struct rsmcore_region *r = rsmcore_regions_first(start, end); r != NULL;
         r = rsmcore_regions_next(r, start, end)) {
        if (r->run.start > from)
            return RSM_ST_FAULT;
        uintptr_t until = rsmcore_region_end(r) < end ? rsmcore_region_end(r) : end;
        if (!show_part(r, from, until - from, protection, (uint8_t *)at + (from - start)))
            return RSM_ST_MAP_FAILED;
        from = until;
    }
    return from == end ? RSM_ST_OK : RSM_ST_FAULT;
}
