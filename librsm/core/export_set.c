/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/export_set.h"

#include "region/region.h"

static struct rsm_ranges segments;
static unsigned segments_epoch; /* process that they belong to */
static bool unreclaimed;        /* pages of ended segments may still be on extents */

bool rsmcore_export_in_use(const struct rsmcore_export *segment)
{
    return segment->published || segment->connections_kept;
}

/* Take pages off their extents, except those that a segment lies over; `apart_from` (NULL: none)
 * and, if asked for, those not in use do not count. */
static enum rsm_status leave_extents_of(uintptr_t start, uintptr_t end,
                                        const struct rsmcore_export *apart_from, bool only_in_use)
{
    enum rsm_status status = RSM_ST_OK;
    uintptr_t at = start;
    struct rsm_range *r = rsm_ranges_first(&segments, start, end);
    for (; r != NULL && at < end && status == RSM_ST_OK; r = rsm_ranges_next(r, start, end)) {
        const struct rsmcore_export *other = (const struct rsmcore_export *)r;
        if (other == apart_from || (only_in_use && !rsmcore_export_in_use(other)))
            continue;
        if (r->start > at)
            status = rsmcore_region_uncover(at, r->start - at);
        if (r->end > at)
            at = r->end;
    }
    if (status == RSM_ST_OK && at < end)
        status = rsmcore_region_uncover(at, end - at);
    return status;
}

enum rsm_status rsmcore_export_leave_extents(const struct rsmcore_export *segment, bool only_in_use)
{
    return leave_extents_of(segment->start, segment->start + segment->length, segment, only_in_use);
}

bool rsmcore_export_overlaps_another(const struct rsmcore_export *segment, uintptr_t start)
{
    uintptr_t end = start + segment->length;
    struct rsm_range *r = rsm_ranges_first(&segments, start, end);
    if (r == &segment->range)
        r = rsm_ranges_next(r, start, end);
    return r != NULL;
}

/* Pages of segments that have gone could not be taken off their extents for lack of memory, and
 * importers may still store there. Each later call tries again, for all pages that are not in use.
 * Publishing a segment puts its pages on extents again. */
void rsmcore_exports_reclaim(void)
{
    uintptr_t at = 0;
    size_t length;
    enum rsm_status status = RSM_ST_OK;
    while (unreclaimed && status == RSM_ST_OK && rsmcore_region_next(&at, &length)) {
        status = leave_extents_of(at, at + length, NULL, true);
        at += length;
    }
    unreclaimed = unreclaimed && status != RSM_ST_OK;
}

void rsmcore_export_leave_extents_for_good(const struct rsmcore_export *segment, bool only_in_use)
{
    if (rsmcore_export_leave_extents(segment, only_in_use) != RSM_ST_OK)
        unreclaimed = true;
}

void rsmcore_exports_lock(void)
{
    rsmcore_region_lock();
    if (segments_epoch != rsmcore_process_epoch()) {
        segments = RSM_RANGES_EMPTY;
        unreclaimed = false;
        segments_epoch = rsmcore_process_epoch();
    }
    rsmcore_exports_reclaim();
}

bool rsmcore_export_daemon_lives(const struct rsmcore_export *segment)
{
    return rsmcore_control_is_alive(segment->control);
}

void rsmcore_exports_add(struct rsmcore_export *segment)
{
    segment->range.start = segment->start;
    segment->range.end = segment->start + segment->length;
    rsm_ranges_add(&segments, &segment->range);
}

void rsmcore_exports_remove(struct rsmcore_export *segment)
{
    if (segment->range.end != 0)
        rsm_ranges_remove(&segments, &segment->range);
    segment->range.end = 0;
}
