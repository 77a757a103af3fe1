/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The regions of this process, by address; the caller holds their lock. */
#pragma once

#include "base/ranges.h"
#include "pageswap/pageswap.h"
#include "region/region_extent.h"

/* A run of pages with one kind of origin on one extent. */
struct rsmcore_region {
    struct rsm_range range;      /* that of the run; first, so that it leads here */
    struct rsmcore_region *next; /* among those that are about to be registered */
    struct rsmcore_origin_run run;
    struct rsmcore_extent *extent;
    uint64_t offset; /* of the first byte in what the extent's descriptor maps */
};

static inline uintptr_t rsmcore_region_end(const struct rsmcore_region *region)
{
    return region->run.start + region->run.length;
}

/** The first that ends behind the address; NULL: there is none. */
struct rsmcore_region *rsmcore_regions_first_after(uintptr_t address);

/** The first that has addresses of the range, and the one after that. */
struct rsmcore_region *rsmcore_regions_first(uintptr_t start, uintptr_t end);
struct rsmcore_region *rsmcore_regions_next(struct rsmcore_region *region, uintptr_t start,
                                            uintptr_t end);

/** Register the runs of one swap as regions, one of which @p spare becomes unless it is NULL. All
 *  or nothing: RSM_ST_NO_MEMORY. */
enum rsm_status rsmcore_regions_register(const struct rsmcore_origin_run *runs, size_t count,
                                         struct rsmcore_extent *extent, uintptr_t start,
                                         uint64_t offset, struct rsmcore_region *spare);

/** Make region borders at both ends of the range, so that whole regions can be dealt with.
 *  RSM_ST_NO_MEMORY. */
enum rsm_status rsmcore_regions_split_at_ends(uintptr_t start, uintptr_t end);

/** Take a region out of the set. Its extent stays in use. */
void rsmcore_regions_remove(struct rsmcore_region *region);
/** Take a region that is no longer on its extent out of the set, and free it. */
void rsmcore_regions_discard(struct rsmcore_region *region);
