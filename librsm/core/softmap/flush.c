/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/softmap/space.h"

#include <string.h>

#include "core/softmap/defects.h"

enum { PIECES = 64, BLOCK = 256, WORD = sizeof(uint64_t) };

/* What is collected before it is sent. */
struct batch {
    struct softmap_space *space;
    struct rsm_transfer piece[PIECES];
    unsigned count;
    bool failed;
};

static void send_batch(struct batch *batch)
{
    /* After a failure the rest is not tried: a fabric that has to time out each piece would hold
     * the caller for ever, and the barrier says that the span has failed. */
    if (batch->count > 0 && !batch->failed)
        batch->failed = softmap_send(batch->space, batch->piece, batch->count) != RSM_ST_OK;
    batch->count = 0;
}

/* ---------------------------------------------------------------- what has changed */

/* First byte from `at` on that differs, or does not; `end` if there is none. */
static size_t next_difference(const uint8_t *copy, const uint8_t *twin, size_t at, size_t end)
{
    while (at < end && at % WORD != 0 && copy[at] == twin[at])
        at++;
    if (at == end || copy[at] != twin[at])
        return at;
    while (at + BLOCK <= end && memcmp(copy + at, twin + at, BLOCK) == 0)
        at += BLOCK;
    while (at + WORD <= end && memcmp(copy + at, twin + at, WORD) == 0)
        at += WORD;
    while (at < end && copy[at] == twin[at])
        at++;
    return at;
}

/* Whether all bytes of two words differ: none of their difference's is zero. */
static bool all_differ(const uint8_t *copy, const uint8_t *twin)
{
    const uint64_t lowest = UINT64_C(0x0101010101010101), highest = lowest << 7;
    uint64_t a, b;
    memcpy(&a, copy, WORD);
    memcpy(&b, twin, WORD);
    uint64_t difference = a ^ b;
    return ((difference - lowest) & ~difference & highest) == 0;
}

static size_t next_equality(const uint8_t *copy, const uint8_t *twin, size_t at, size_t end)
{
    while (at + WORD <= end && all_differ(copy + at, twin + at))
        at += WORD;
    while (at < end && copy[at] != twin[at])
        at++;
    return at;
}

/* The run of whole grains that begins with the first difference from `at` on. */
static bool next_run(const struct softmap_space *space, uint32_t page, size_t *from, size_t *to)
{
    const uint8_t *copy = softmap_copy_of(space, page);
    const uint8_t *twin = space->twins + (size_t)page * space->page_size;
    size_t end = softmap_page_bytes(space, page);
    size_t grain = SOFTMAP_DEFECT(SOFTMAP_GAP_MERGE) ? 64 : space->options.grain;
    size_t at = next_difference(copy, twin, *to, end);
    if (at == end)
        return false;
    *from = at / grain * grain;
    do {
        at = next_equality(copy, twin, at, end);
        at = (at + grain - 1) / grain * grain;
    } while (at < end && copy[at] != twin[at]);
    *to = at < end ? at : end;
    return true;
}

static void add_run(struct batch *batch, uint32_t page, size_t from, size_t to)
{
    struct softmap_space *space = batch->space;
    if (batch->count == PIECES)
        send_batch(batch);
    /* A buffer that begins anew must not take what is still to be sent. */
    if (space->buffer_used + (to - from) > SOFTMAP_BUFFER_PAGES * space->page_size)
        send_batch(batch);
    struct rsm_transfer *piece = &batch->piece[batch->count++];
    piece->local = softmap_buffer(space, to - from);
    piece->remote = (uint64_t)page * space->page_size + from;
    piece->length = to - from;
    memcpy(piece->local, softmap_copy_of(space, page) + from, to - from);
    softmap_note_stored(space, page, from, to - from);
    space->counters.runs++;
}

static void add_page(struct batch *batch, uint32_t page)
{
    size_t from = 0, to = 0;
    if (SOFTMAP_DEFECT(SOFTMAP_WHOLE_PAGE)) {
        add_run(batch, page, 0, softmap_page_bytes(batch->space, page));
        return;
    }
    struct softmap_page *entry = &batch->space->page[page];
    while (to < softmap_page_bytes(batch->space, page) &&
           next_run(batch->space, page, &from, &to)) {
        add_run(batch, page, from, to);
        entry->sent_from = entry->cut_short ? entry->sent_from : (uint16_t)from;
        entry->sent_last = (uint16_t)(to - 1);
        entry->cut_short = true;
    }
}

/* ---------------------------------------------------------------- the flush */

/* Take the views of all RW pages away, neighbours together. Only then are they looked at: each
 * thread's stores end at one point, for it cannot pass the first that is refused. The list is in
 * order of time; it mostly goes up or down by one. */
static void close_pages(struct softmap_space *space)
{
    uint32_t page = space->dirty_first;
    while (page != SOFTMAP_NO_PAGE) {
        uint32_t first = page, last = page;
        while ((page = space->page[page].next) != SOFTMAP_NO_PAGE &&
               (page == last + 1 || page + 1 == first)) {
            first = page < first ? page : first;
            last = page > last ? page : last;
        }
        softmap_close(space, first, last - first + 1);
    }
}

static void send_pages(struct softmap_space *space)
{
    struct batch batch = {.space = space};
    for (uint32_t page = space->dirty_first; page != SOFTMAP_NO_PAGE;
         page = space->page[page].next) {
        uint64_t before = space->counters.runs;
        add_page(&batch, page);
        if (space->counters.runs > before && space->page[page].next != SOFTMAP_NO_PAGE) {
            send_batch(&batch);
            softmap_order(space);
        }
        space->counters.flushed_pages++;
    }
    send_batch(&batch);
}

static void empty_list(struct softmap_space *space)
{
    for (uint32_t page = space->dirty_first; page != SOFTMAP_NO_PAGE; page = space->page[page].next)
        space->page[page].state = SOFTMAP_NONE;
    space->dirty_first = SOFTMAP_NO_PAGE;
    /* Last, for a barrier that finds 0 here does not wait. */
    atomic_store(&space->dirty_count, 0);
}

void softmap_flush(struct softmap_space *space)
{
    if (space->dirty_first == SOFTMAP_NO_PAGE)
        return;
    if (!SOFTMAP_DEFECT(SOFTMAP_LIVE_POST))
        close_pages(space);
    if (!space->dead) {
        softmap_order(space);
        send_pages(space);
    }
    if (SOFTMAP_DEFECT(SOFTMAP_LIVE_POST))
        close_pages(space);
    empty_list(space);
    space->counters.flushes++;
}
