/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/space.h"

#include <string.h>

#include "mapping/compare.h"
#include "mapping/defects.h"

void mapping_runs_send(struct mapping_runs *runs)
{
    /* After a failure the rest is not tried: a fabric that has to time out each piece would hold
     * the caller for ever, and the barrier says that the span has failed. */
    if (runs->count > 0 && !runs->failed)
        runs->failed = mapping_send(runs->space, runs->piece, runs->count) != RSM_ST_OK;
    runs->count = 0;
}

/* The run of whole grains that begins with the first difference from `at` on. */
static bool next_run(const struct mapping_space *space, uint32_t page, const uint8_t *copy,
                     size_t *from, size_t *to)
{
    const uint8_t *twin = mapping_twin_of(space, page);
    size_t end = mapping_page_bytes(space, page);
    size_t grain = MAPPING_DEFECT(MAPPING_GAP_MERGE) ? 64 : space->options.grain;
    size_t at = mapping_next_difference(copy, twin, *to, end);
    if (at == end)
        return false;
    *from = at / grain * grain;
    do {
        at = mapping_next_equality(copy, twin, at, end);
        at = (at + grain - 1) / grain * grain;
    } while (at < end && copy[at] != twin[at]);
    *to = at < end ? at : end;
    return true;
}

static void add_run(struct mapping_runs *runs, uint32_t page, const uint8_t *copy, size_t from,
                    size_t to)
{
    struct mapping_space *space = runs->space;
    if (runs->count == MAPPING_RUNS)
        mapping_runs_send(runs);
    /* A buffer that begins anew must not take what is still to be sent. */
    if (space->buffer_used + (to - from) > MAPPING_BUFFER_PAGES * space->page_size)
        mapping_runs_send(runs);
    struct rsm_transfer *piece = &runs->piece[runs->count++];
    piece->local = mapping_buffer(space, to - from);
    piece->remote = (uint64_t)page * space->page_size + from;
    piece->length = to - from;
    memcpy(piece->local, copy + from, to - from);
    mapping_note_stored(space, page, from, to - from);
    space->counters.runs++;
}

bool mapping_runs_add(struct mapping_runs *runs, uint32_t page, const uint8_t *copy)
{
    struct mapping_space *space = runs->space;
    size_t from = 0, to = 0, end = mapping_page_bytes(space, page);
    bool any = false;
    if (MAPPING_DEFECT(MAPPING_WHOLE_PAGE)) {
        add_run(runs, page, copy, 0, end);
        return true;
    }
    while (to < end && next_run(space, page, copy, &from, &to)) {
        add_run(runs, page, copy, from, to);
        if (!any)
            space->page[page].sent_from = (uint16_t)from;
        space->page[page].sent_last = (uint16_t)(to - 1);
        any = true;
    }
    return any;
}
