/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving extents from under one range of memory to under another. */
#include "region/region.h"

#include <stdlib.h>

#include "pageswap/pageswap.h"
#include "region/region_set.h"

static bool fully_covered(uintptr_t start, uintptr_t end)
{
    uintptr_t at = start;
    for (struct rsmcore_region *r = rsmcore_regions_first(start, end); r != NULL;
         r = rsmcore_regions_next(r, start, end)) {
        if (r->run.start > at)
            return false;
        at = rsmcore_region_end(r);
    }
    return at >= end;
}

/* The pages have moved, but could not be registered at the new place: move them back, which
 * restores the region. If that fails, too, no segment may find them on the extent. */
static bool move_back(struct rsmcore_region *region, const struct rsmcore_origin_run *runs,
                      size_t count)
{
    struct rsmcore_origin_run *back;
    size_t back_count;
    uintptr_t to = runs[0].start;
    bool registered = false;
    if (rsmcore_swap_move(runs, count, region->run.start, region->extent->file.fd, region->offset,
                          &back, &back_count) == RSM_ST_OK) {
        registered = rsmcore_regions_register(back, back_count, region->extent, back[0].start,
                                              region->offset, region) == RSM_ST_OK;
        for (size_t i = 0; !registered && i < back_count; i++)
            (void)rsmcore_swap_out(&back[i], &region->extent->file,
                                   region->offset + (back[i].start - back[0].start));
        free(back);
        return registered;
    }
    for (size_t i = 0; i < count; i++)
        (void)rsmcore_swap_out(&runs[i], &region->extent->file,
                               region->offset + (runs[i].start - to));
    return false;
}

/* Move one whole region by `delta` and register it anew. */
static enum rsm_status move_region(struct rsmcore_region *region, uintptr_t delta)
{
    struct rsmcore_origin_run *runs;
    size_t count;
    uintptr_t to = region->run.start + delta;
    enum rsm_status status = rsmcore_swap_move(&region->run, 1, to, region->extent->file.fd,
                                               region->offset, &runs, &count);
    if (status != RSM_ST_OK)
        return status;
    /* The old region's hold on the extent is kept until the new ones have theirs. */
    struct rsmcore_extent *extent = region->extent;
    uint64_t offset = region->offset;
    rsmcore_regions_remove(region);
    status = rsmcore_regions_register(runs, count, extent, to, offset, region);
    if (status != RSM_ST_OK && !move_back(region, runs, count))
        free(region);
    free(runs);
    rsmcore_extent_release(extent);
    return status;
}

/* Have descriptors of all extents under the range. */
static enum rsm_status reopen_extents(uintptr_t start, uintptr_t end)
{
    enum rsm_status status = RSM_ST_OK;
    struct rsmcore_region *r = rsmcore_regions_first(start, end);
    for (; r != NULL && status == RSM_ST_OK; r = rsmcore_regions_next(r, start, end))
        status = rsmcore_extent_reopen(r->extent);
    return status;
}

static void let_go_of_extents(uintptr_t start, uintptr_t end)
{
    for (struct rsmcore_region *r = rsmcore_regions_first(start, end); r != NULL;
         r = rsmcore_regions_next(r, start, end))
        rsmcore_extent_let_go(r->extent);
}

/* Move all regions of the source, which begin and end where it does. */
static enum rsm_status move_regions(uintptr_t from, uintptr_t to, size_t length)
{
    uintptr_t end = from + length;
    size_t moved = 0;
    enum rsm_status status = RSM_ST_OK;
    struct rsmcore_region *region;
    while (status == RSM_ST_OK && (region = rsmcore_regions_first(from, end)) != NULL) {
        size_t size = region->run.length;
        status = move_region(region, to - from);
        if (status == RSM_ST_OK)
            moved += size;
    }
    /* Put back what has moved before the failure. */
    while (status != RSM_ST_OK && moved > 0 &&
           (region = rsmcore_regions_first(to, to + moved)) != NULL)
        if (move_region(region, from - to) != RSM_ST_OK)
            break;
    return status;
}

enum rsm_status rsmcore_region_move(uintptr_t from, uintptr_t to, size_t length)
{
    uintptr_t end = from + length;
    bool overlap = from < to + length && to < end;
    if (overlap || rsmcore_regions_first(to, to + length) != NULL || !fully_covered(from, end))
        return RSM_ST_BUSY;
    enum rsm_status status = rsmcore_range_check(to, length, 0);
    if (status == RSM_ST_OK)
        status = rsmcore_regions_split_at_ends(from, end);
    if (status != RSM_ST_OK)
        return status;

    status = reopen_extents(from, end);
    if (status == RSM_ST_OK)
        status = move_regions(from, to, length);
    let_go_of_extents(from, end);
    let_go_of_extents(to, to + length);
    return status;
}
