/* SPDX-License-Identifier: BSD-3-Clause */
/* put and get of a connection that has views: as if they were stores and loads of them. The
 * transport moves the bytes without the space's lock, for the program's memory may fault. */
#include "mapping/space.h"

#include "mapping/mirror.h"

/* What was known of these pages is not what they have now. A difference would be our doing, not the
 * peer's. */
static void drop_overlapping(struct mapping_space *space, uint64_t offset, size_t length)
{
    uint32_t first = mapping_page_of(space, offset);
    uint32_t last = mapping_page_of(space, offset + length - 1);
    mapping_drop_clean(space, first, last - first + 1);
    for (uint32_t page = first; page <= last; page++) {
        space->page[page].known = false;
        space->page[page].stored_lines = 0;
        mapping_cache_forget(space, page);
    }
}

static bool has_dirty(const struct mapping_space *space, uint64_t offset, size_t length)
{
    uint32_t last = mapping_page_of(space, offset + length - 1);
    for (uint32_t page = mapping_page_of(space, offset); page <= last; page++)
        if (space->page[page].state == MAPPING_RW)
            return true;
    return false;
}

void mapping_before_put(struct mapping_space *space, uint64_t offset, size_t length)
{
    mapping_flush(space);
    mapping_order(space);
    drop_overlapping(space, offset, length);
}

void mapping_after_put(struct mapping_space *space, uint64_t offset, size_t length)
{
    mapping_note_posted(space, offset, length);
    /* Other threads may have made twins meanwhile, of what was there before. */
    if (has_dirty(space, offset, length))
        mapping_flush(space);
    drop_overlapping(space, offset, length);
}

void mapping_before_get(struct mapping_space *space)
{
    mapping_flush(space);
    if (space->posted > space->completed)
        mapping_settle(space);
}

enum rsm_status mapping_barrier_order(struct mapping_space *space)
{
    atomic_fetch_add(&space->epoch, 1);
    mapping_flush(space);
    space->ordered = space->posted;
    return space->inner->ops->order(space->inner);
}

enum rsm_status mapping_barrier_complete(struct mapping_space *space)
{
    atomic_fetch_add(&space->epoch, 1);
    mapping_flush(space);
    space->ordered = space->completed = space->posted;
    space->buffer_used = 0;
    return space->inner->ops->complete(space->inner);
}

void mapping_acquire(struct mapping_space *space)
{
    atomic_fetch_add(&space->epoch, 1);
    mapping_flush(space);
    mapping_drop_clean(space, 0, space->page_count);
}

uint32_t mapping_reread(struct mapping_space *space, uint32_t from, uint32_t end)
{
    if (space->mirror == NULL)
        return MAPPING_NO_PAGE;
    return mapping_mirror_refresh(space, from, end, MAPPING_BUFFER_PAGES);
}

void mapping_service(struct mapping_space *space)
{
    if (space->mirror != NULL)
        mapping_mirror_service(space);
    uint32_t oldest = space->dirty_first;
    if (oldest != MAPPING_NO_PAGE &&
        space->now() - space->page[oldest].since >= space->options.flush_us)
        mapping_flush_older(space, space->options.flush_us / 2);
}

uint32_t mapping_service_due(const struct mapping_space *space)
{
    uint32_t oldest = space->dirty_first;
    if (oldest == MAPPING_NO_PAGE)
        return 0;
    uint64_t age = space->now() - space->page[oldest].since;
    return age < space->options.flush_us ? (uint32_t)(space->options.flush_us - age) : 1;
}

uint32_t mapping_service_next(struct mapping_space *space, uint32_t from)
{
    uint32_t page = mapping_next_clean(space, from, space->page_count);
    if (page == MAPPING_NO_PAGE)
        return page;
    uint32_t end = mapping_ahead_end(space, page);
    if (space->now() - space->page[page].since < mapping_ahead_stay(space, page))
        return end > page ? end : page + 1;
    if (end > page) { /* a stream has passed, or reads them again */
        mapping_drop_clean(space, page, end - page);
        return end;
    }
    mapping_refresh(space, page);
    return page + 1;
}
