/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/defects.h"
#include "mapping/mirror.h"
#include "mapping/space.h"

/* Take the views of all RW pages away, neighbours together. Only then are they looked at: each
 * thread's stores end at one point, for it cannot pass the first that is refused. The list is in
 * order of time; it mostly goes up or down by one. */
static void close_pages(struct mapping_space *space)
{
    uint32_t page = space->dirty_first;
    while (page != MAPPING_NO_PAGE) {
        uint32_t first = page, last = page;
        while ((page = space->page[page].next) != MAPPING_NO_PAGE &&
               (page == last + 1 || page + 1 == first)) {
            first = page < first ? page : first;
            last = page > last ? page : last;
        }
        mapping_close(space, first, last - first + 1);
    }
}

static void send_pages(struct mapping_space *space)
{
    struct mapping_runs runs = {.space = space};
    for (uint32_t page = space->dirty_first; page != MAPPING_NO_PAGE;
         page = space->page[page].next) {
        bool any = mapping_runs_add(&runs, page, mapping_copy_of(space, page));
        space->page[page].cut_short = any;
        mapping_prefer_flushed(space, page);
        if (any && space->page[page].next != MAPPING_NO_PAGE) {
            mapping_runs_send(&runs);
            mapping_order(space);
        }
        space->counters.flushed_pages++;
    }
    mapping_runs_send(&runs);
}

static void empty_list(struct mapping_space *space)
{
    for (uint32_t page = space->dirty_first; page != MAPPING_NO_PAGE; page = space->page[page].next)
        space->page[page].state = MAPPING_NONE;
    space->dirty_first = MAPPING_NO_PAGE;
    /* Last, for a barrier that finds 0 here does not wait. */
    atomic_store(&space->dirty_count, 0);
}

void mapping_flush(struct mapping_space *space)
{
    if (space->mirror != NULL)
        mapping_mirror_flush(space);
    if (space->dirty_first == MAPPING_NO_PAGE)
        return;
    if (!MAPPING_DEFECT(MAPPING_LIVE_POST))
        close_pages(space);
    if (!space->dead) {
        mapping_order(space);
        send_pages(space);
    }
    if (MAPPING_DEFECT(MAPPING_LIVE_POST)) {
        mapping_defect_window(MAPPING_LIVE_POST);
        close_pages(space);
    }
    empty_list(space);
    space->counters.flushes++;
}
