/* SPDX-License-Identifier: BSD-3-Clause */
/* put and get of a connection that has views: as if they were stores and loads of them. The
 * transport moves the bytes without the space's lock, for the program's memory may fault. */
#include "mapping/barrier.h"

#include "mapping/mirror.h"

/* What was known of these pages is not what they have now. A difference would be our doing, not the
 * peer's. */
static void drop_overlapping(struct softmap_space *space, uint64_t offset, size_t length)
{
    uint32_t first = softmap_page_of(space, offset);
    uint32_t last = softmap_page_of(space, offset + length - 1);
    softmap_drop_clean(space, first, last - first + 1);
    for (uint32_t page = first; page <= last; page++) {
        space->page[page].known = false;
        space->page[page].stored_lines = 0;
    }
}

static bool has_dirty(const struct softmap_space *space, uint64_t offset, size_t length)
{
    uint32_t last = softmap_page_of(space, offset + length - 1);
    for (uint32_t page = softmap_page_of(space, offset); page <= last; page++)
        if (space->page[page].state == SOFTMAP_RW)
            return true;
    return false;
}

void softmap_before_put(struct softmap_space *space, uint64_t offset, size_t length)
{
    softmap_flush(space);
    softmap_order(space);
    drop_overlapping(space, offset, length);
}

void softmap_after_put(struct softmap_space *space, uint64_t offset, size_t length)
{
    softmap_note_posted(space, offset, length);
    /* Other threads may have made twins meanwhile, of what was there before. */
    if (has_dirty(space, offset, length))
        softmap_flush(space);
    drop_overlapping(space, offset, length);
}

void softmap_before_get(struct softmap_space *space)
{
    softmap_flush(space);
    if (space->posted > space->completed)
        (void)softmap_settle(space);
}

enum rsm_status softmap_barrier_order(struct softmap_space *space)
{
    atomic_fetch_add(&space->epoch, 1);
    softmap_flush(space);
    space->ordered = space->posted;
    enum rsm_status status = space->inner->ops->order(space->inner);
    enum rsm_status earlier = softmap_take_error(space);
    return earlier != RSM_ST_OK ? earlier : status;
}

enum rsm_status softmap_barrier_complete(struct softmap_space *space)
{
    atomic_fetch_add(&space->epoch, 1);
    softmap_flush(space);
    space->ordered = space->completed = space->posted;
    space->buffer_used = 0;
    enum rsm_status status = space->inner->ops->complete(space->inner);
    enum rsm_status earlier = softmap_take_error(space);
    return earlier != RSM_ST_OK ? earlier : status;
}

void softmap_acquire(struct softmap_space *space)
{
    atomic_fetch_add(&space->epoch, 1);
    softmap_flush(space);
    softmap_drop_clean(space, 0, space->page_count);
}

uint32_t softmap_reread(struct softmap_space *space, uint32_t from, uint32_t end)
{
    if (space->mirror == NULL)
        return SOFTMAP_NO_PAGE;
    return softmap_mirror_refresh(space, from, end, SOFTMAP_BUFFER_PAGES);
}

void softmap_service(struct softmap_space *space)
{
    if (space->mirror != NULL)
        softmap_mirror_service(space);
    uint32_t oldest = space->dirty_first;
    if (oldest != SOFTMAP_NO_PAGE &&
        space->now() - space->page[oldest].since >= space->options.flush_us)
        softmap_flush(space);
}

uint32_t softmap_service_due(const struct softmap_space *space)
{
    uint32_t oldest = space->dirty_first;
    if (oldest == SOFTMAP_NO_PAGE)
        return 0;
    uint64_t age = space->now() - space->page[oldest].since;
    return age < space->options.flush_us ? (uint32_t)(space->options.flush_us - age) : 1;
}

uint32_t softmap_service_next(struct softmap_space *space, uint32_t from)
{
    uint32_t page = softmap_next_clean(space, from);
    if (page == SOFTMAP_NO_PAGE)
        return page;
    if (space->now() - space->page[page].since >= space->options.refresh_us)
        softmap_refresh(space, page);
    return page + 1;
}
