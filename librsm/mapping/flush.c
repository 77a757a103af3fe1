/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/compare.h"
#include "mapping/defects.h"
#include "mapping/mirror.h"
#include "mapping/space.h"

enum { RENEWALS = 4 }; /* of a page that is not changed; then it is flushed all the same */

/* Take the views of RW pages away, up to before @p end of the list, neighbours together. Only then
 * are they looked at: each thread's stores end at one point, for it cannot pass the first that is
 * refused. The list is in order of time; it mostly goes up or down by one. */
static void close_pages(struct mapping_space *space, uint32_t end)
{
    uint32_t page = space->dirty_first;
    while (page != end) {
        uint32_t first = page, last = page;
        while ((page = space->page[page].next) != end && (page == last + 1 || page + 1 == first)) {
            first = page < first ? page : first;
            last = page > last ? page : last;
        }
        mapping_close(space, first, last - first + 1);
    }
}

static void send_pages(struct mapping_space *space, uint32_t end)
{
    struct mapping_runs runs = {.space = space};
    for (uint32_t page = space->dirty_first; page != end; page = space->page[page].next) {
        bool any = mapping_runs_add(&runs, page, mapping_copy_of(space, page));
        space->page[page].cut_short = any;
        mapping_prefer_flushed(space, page);
        if (any && space->page[page].next != end) {
            mapping_runs_send(&runs);
            mapping_order(space);
        }
        space->counters.flushed_pages++;
    }
    mapping_runs_send(&runs);
}

static void shorten_list(struct mapping_space *space, uint32_t end)
{
    uint32_t count = 0;
    for (; space->dirty_first != end; space->dirty_first = space->page[space->dirty_first].next) {
        space->page[space->dirty_first].state = MAPPING_NONE;
        count++;
    }
    /* Last, for a barrier that finds 0 here does not wait. */
    atomic_fetch_sub(&space->dirty_count, count);
}

/* The pages before @p end of the list of RW pages. */
static void flush(struct mapping_space *space, uint32_t end)
{
    if (space->dirty_first == end)
        return;
    if (!MAPPING_DEFECT(MAPPING_LIVE_POST))
        close_pages(space, end);
    if (!space->dead) {
        mapping_order(space);
        send_pages(space, end);
    }
    if (MAPPING_DEFECT(MAPPING_LIVE_POST)) {
        mapping_defect_window(MAPPING_LIVE_POST);
        close_pages(space, end);
    }
    shorten_list(space, end);
    space->counters.flushes++;
}

void mapping_flush(struct mapping_space *space)
{
    if (space->mirror != NULL)
        mapping_mirror_flush(space);
    flush(space, MAPPING_NO_PAGE);
}

/* Whether the program has changed the page since it became RW. */
static bool is_changed(const struct mapping_space *space, uint32_t page)
{
    size_t end = mapping_page_bytes(space, page);
    return mapping_next_difference(mapping_shown_of(space, page), mapping_twin_of(space, page), 0,
                                   end) < end;
}

/* The page, which @p before comes before in the list, is as if it had become RW just now. */
static void renew(struct mapping_space *space, uint32_t page, uint32_t before)
{
    struct mapping_page *entry = &space->page[page];
    uint32_t next = entry->next;
    entry->since = space->now();
    entry->renewed++;
    if (next == MAPPING_NO_PAGE)
        return;
    if (before == MAPPING_NO_PAGE)
        space->dirty_first = next;
    else
        space->page[before].next = next;
    space->page[space->dirty_last].next = page;
    space->dirty_last = page;
    entry->next = MAPPING_NO_PAGE;
}

/* A thread that a page was made RW for may still be on its way, because its processor has slept.
 * What it is about to store would be refused again. So a page that was not changed is left for a
 * while; it has nothing to send. */
static void renew_unchanged(struct mapping_space *space, uint64_t age_us)
{
    uint64_t now = space->now();
    uint32_t before = MAPPING_NO_PAGE, page = space->dirty_first, last = space->dirty_last, next;
    for (bool more = true; more && now - space->page[page].since >= age_us; page = next) {
        more = page != last;
        next = space->page[page].next;
        if (space->page[page].renewed < RENEWALS && !is_changed(space, page))
            renew(space, page, before);
        else
            before = page;
    }
}

void mapping_flush_older(struct mapping_space *space, uint64_t age_us)
{
    if (space->dirty_first != MAPPING_NO_PAGE)
        renew_unchanged(space, age_us);
    uint64_t now = space->now();
    uint32_t end = space->dirty_first;
    while (end != MAPPING_NO_PAGE && now - space->page[end].since >= age_us)
        end = space->page[end].next;
    flush(space, end);
}
