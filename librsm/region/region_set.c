/* SPDX-License-Identifier: BSD-3-Clause */
#include "region/region_set.h"

#include <stdlib.h>

#include "region/region_lock.h"

static struct rsm_ranges regions; /* which do not overlap */

struct rsmcore_region *rsmcore_regions_first_after(uintptr_t address)
{
    return (struct rsmcore_region *)rsm_ranges_first(&regions, address, UINTPTR_MAX);
}

struct rsmcore_region *rsmcore_regions_first(uintptr_t start, uintptr_t end)
{
    return (struct rsmcore_region *)rsm_ranges_first(&regions, start, end);
}

struct rsmcore_region *rsmcore_regions_next(struct rsmcore_region *region, uintptr_t start,
                                            uintptr_t end)
{
    return (struct rsmcore_region *)rsm_ranges_next(&region->range, start, end);
}

/* The extents and what is on them are the parent's; only the child's copies go. */
void rsmcore_region_forget_all(void)
{
    for (struct rsmcore_region *region; (region = rsmcore_regions_first_after(0)) != NULL;
         free(region)) {
        rsm_ranges_remove(&regions, &region->range);
        rsmcore_extent_forget(region->extent);
    }
}

static void insert(struct rsmcore_region *region)
{
    region->range.start = region->run.start;
    region->range.end = rsmcore_region_end(region);
    rsm_ranges_add(&regions, &region->range);
}

/* Register a region that is on its extent. */
static void add(struct rsmcore_region *region)
{
    insert(region);
    region->extent->regions++;
}

void rsmcore_regions_discard(struct rsmcore_region *region)
{
    rsm_ranges_remove(&regions, &region->range);
    rsmcore_extent_release(region->extent);
    free(region);
}

/* Cut a region in two at `address`, which lies inside it. */
static enum rsm_status split(struct rsmcore_region *region, uintptr_t address)
{
    struct rsmcore_region *upper = malloc(sizeof *upper);
    if (upper == NULL)
        return RSM_ST_NO_MEMORY;
    size_t lower_length = address - region->run.start;
    *upper = *region;
    upper->run.start = address;
    upper->run.length -= lower_length;
    upper->offset += lower_length;
    if (upper->run.origin.kind == RSMCORE_ORIGIN_SHARED)
        upper->run.origin.alias += lower_length;
    rsm_ranges_remove(&regions, &region->range);
    region->run.length = lower_length;
    insert(region);
    add(upper);
    return RSM_ST_OK;
}

enum rsm_status rsmcore_regions_split_at_ends(uintptr_t start, uintptr_t end)
{
    const uintptr_t cuts[] = {start, end};
    for (int i = 0; i < 2; i++) {
        struct rsmcore_region *region = rsmcore_regions_first_after(cuts[i]);
        if (region == NULL || region->run.start >= cuts[i])
            continue;
        enum rsm_status status = split(region, cuts[i]);
        if (status != RSM_ST_OK)
            return status;
    }
    return RSM_ST_OK;
}

enum rsm_status rsmcore_regions_register(const struct rsmcore_origin_run *runs, size_t count,
                                         struct rsmcore_extent *extent, uintptr_t start,
                                         uint64_t offset, struct rsmcore_region *spare)
{
    struct rsmcore_region *made = NULL;
    for (size_t i = 0; i < count; i++) {
        struct rsmcore_region *region = i == 0 && spare != NULL ? spare : malloc(sizeof *region);
        if (region == NULL) {
            while (made != NULL) {
                struct rsmcore_region *next = made->next;
                if (made != spare)
                    free(made);
                made = next;
            }
            return RSM_ST_NO_MEMORY;
        }
        region->run = runs[i];
        region->extent = extent;
        region->offset = offset + (runs[i].start - start);
        region->next = made;
        made = region;
    }
    while (made != NULL) {
        struct rsmcore_region *next = made->next;
        add(made);
        made = next;
    }
    return RSM_ST_OK;
}

void rsmcore_regions_remove(struct rsmcore_region *region)
{
    rsm_ranges_remove(&regions, &region->range);
}
