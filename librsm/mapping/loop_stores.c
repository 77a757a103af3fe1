/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the stores of a loop go that is carried out. Each is sent by itself, as if it had been
 * trapped, as long as its page has no twin for it. From there on they are collected, if they follow
 * one another upward or downward, and sent page by page in that order. */
#include "mapping/loop_stores.h"

#include <string.h>

#include "mapping/loop.h"

enum { WINDOW_MIN = 16, WINDOW_MAX = MAPPING_BUFFER_PAGES / 2 }; /* pages that are collected */
enum { SINGLE = 512 };   /* stores that are sent by themselves in one run */
enum { FEW = 8 };        /* stores in a run that was not worth its fault */
enum { SHORT_RUNS = 2 }; /* after so many in a row ... */
enum { SKIPPED = 64 };   /* ... so many are not tried */

struct mapping_loop_sink {
    struct mapping_space *space;
    const struct mapping_loop_view *view;
    bool asked;      /* whether the next store is for a twin, `collects` says */
    bool collects;   /* stores are collected */
    unsigned single; /* stores that were not */

    /* What is collected: [from, to) of the segment. */
    uint64_t from, to;
    uint64_t noted_from, noted_to; /* the part that prefer.c knows: the first store */
    uint8_t *room;                 /* of `window` pages, the first of which is that store's */
    uint32_t window;               /* pages that there is room for */
    uint32_t first;                /* page of the first store */
    uint32_t last;                 /* the farthest from it; the stores go to all between them */
    uint64_t last_from, last_to;   /* that page */
    bool up, down;                 /* they go there; neither: that is not known yet */
    bool full;                     /* the window, or a page that is not for them, ended the run */
};

/* ---------------------------------------------------------------- stores that are collected */

static uint32_t distance_of(const struct mapping_loop_sink *sink, uint32_t page)
{
    return page > sink->first ? page - sink->first : sink->first - page;
}

static uint8_t *room_of(const struct mapping_loop_sink *sink, uint32_t page)
{
    return sink->room + (size_t)distance_of(sink, page) * sink->space->page_size;
}

static void set_last(struct mapping_loop_sink *sink, uint32_t page)
{
    sink->last = page;
    sink->last_from = (uint64_t)page * sink->space->page_size;
    sink->last_to = sink->last_from + sink->space->page_size;
}

/* A first store that goes to two pages has no direction: it is not for here. */
static bool begin(struct mapping_loop_sink *sink, uint64_t offset, uint64_t end)
{
    struct mapping_space *space = sink->space;
    sink->first = mapping_page_of(space, offset);
    set_last(sink, sink->first);
    if (end > sink->last_to)
        return false;
    sink->from = sink->noted_from = offset;
    sink->to = sink->noted_to = end;
    sink->room = mapping_store_room(space, sink->window * space->page_size);
    sink->collects = true;
    return true;
}

/* Whether the run may come to the page beside its last. */
static bool enter(struct mapping_loop_sink *sink, uint32_t page)
{
    if (distance_of(sink, page) >= sink->window || !mapping_prefer_passes(sink->space, page)) {
        sink->full = true;
        return false;
    }
    set_last(sink, page);
    return true;
}

static bool is_next(const struct mapping_loop_sink *sink, uint64_t offset, uint64_t end)
{
    return !sink->down && offset <= sink->to && end > sink->to && offset >= sink->from;
}

static bool is_before(const struct mapping_loop_sink *sink, uint64_t offset, uint64_t end)
{
    return !sink->up && end >= sink->from && offset < sink->from && end <= sink->to;
}

/* Only a store that goes on with the run, and stores there what it has not stored before. */
static bool extend(struct mapping_loop_sink *sink, uint64_t offset, uint64_t end)
{
    if (is_next(sink, offset, end)) {
        if (end > sink->last_to && !enter(sink, sink->last + 1))
            return false;
        sink->to = end;
        sink->up = true;
        return true;
    }
    if (!is_before(sink, offset, end) || (offset < sink->last_from && !enter(sink, sink->last - 1)))
        return false;
    sink->from = offset;
    sink->down = true;
    return true;
}

/* By pieces of a length that the compiler knows: a call would take longer than the copy. */
static void copy(uint8_t *into, const uint8_t *from, size_t length)
{
    for (; length >= 16; length -= 16, into += 16, from += 16)
        memcpy(into, from, 16);
    if (length & 8)
        memcpy(into, from, 8);
    into += length & 8, from += length & 8;
    for (length &= 7; length > 0; length--)
        *into++ = *from++;
}

static void keep(const struct mapping_loop_sink *sink, uint64_t offset, const uint8_t *bytes,
                 size_t length)
{
    if (offset >= sink->last_from && offset + length <= sink->last_to) {
        copy(room_of(sink, sink->last) + (offset - sink->last_from), bytes, length);
        return;
    }
    /* Across its edge: a part is in the page before or behind it. */
    for (size_t i = 0; i < length; i++) {
        uint32_t page = mapping_page_of(sink->space, offset + i);
        room_of(sink, page)[(offset + i) % sink->space->page_size] = bytes[i];
    }
}

/* What was collected of a page. Of the first store it is known already that the page was stored
 * to. */
static void send_page(const struct mapping_loop_sink *sink, uint32_t page)
{
    struct mapping_space *space = sink->space;
    uint64_t here = (uint64_t)page * space->page_size, end = here + space->page_size;
    uint64_t from = sink->from > here ? sink->from : here;
    uint64_t to = sink->to < end ? sink->to : end;
    mapping_store_from(space, from, room_of(sink, page) + (from - here), (size_t)(to - from));
    if (page == sink->first && sink->down)
        to = sink->noted_from;
    else if (page == sink->first)
        from = sink->noted_to;
    if (from < to)
        mapping_prefer_looped(space, page, (size_t)(from - here), (size_t)(to - from));
}

static void send_collected(const struct mapping_loop_sink *sink)
{
    uint32_t page = sink->first;
    if (!sink->collects)
        return;
    send_page(sink, page);
    while (page != sink->last) {
        page = page < sink->last ? page + 1 : page - 1;
        send_page(sink, page);
    }
}

/* ---------------------------------------------------------------- all stores */

/* Whether a store is one of those that a twin is for. */
static bool prefers_twin(struct mapping_loop_sink *sink, uint64_t offset, size_t length)
{
    struct mapping_space *space = sink->space;
    size_t at = offset % space->page_size, left = space->page_size - at;
    if (!sink->asked)
        sink->collects =
            mapping_prefers_twin(space, mapping_page_of(space, offset), at,
                                 length < left ? length : left, mapping_loop_weight(length));
    sink->asked = false;
    return sink->collects;
}

static void take_single(struct mapping_loop_sink *sink, uint64_t offset, const void *bytes,
                        size_t length)
{
    sink->single++;
    sink->from = offset;
    sink->to = offset + length;
    mapping_store(sink->space, offset, bytes, length);
}

bool mapping_loop_take(struct mapping_loop_sink *sink, uintptr_t address, const void *bytes,
                       size_t length)
{
    uint64_t offset = address - sink->view->origin;
    if (offset < sink->view->from || offset >= sink->view->to || length > sink->view->to - offset)
        return false;
    if (sink->collects && !sink->asked) {
        if (!extend(sink, offset, offset + length))
            return false;
    } else if (sink->single == SINGLE || sink->space->dead) {
        sink->full = true; /* before prefer.c counts a store that will be trapped */
        return false;
    } else if (!prefers_twin(sink, offset, length) || !begin(sink, offset, offset + length)) {
        sink->collects = false;
        take_single(sink, offset, bytes, length);
        return true;
    }
    keep(sink, offset, bytes, length);
    return true;
}

/* ---------------------------------------------------------------- which loops */

/* Those that lie in the same 512 bytes of code count as one. */
static struct mapping_loop_tries *tries_of(struct mapping_space *space, uintptr_t code)
{
    return &space->loops.tries[code / 512 % MAPPING_LOOPS];
}

static void count_short(struct mapping_loop_tries *tries)
{
    tries->good = false;
    if (++tries->shorts < SHORT_RUNS)
        return;
    tries->skip = SKIPPED;
    tries->shorts = SHORT_RUNS - 1;
}

/* Whether to try at all. Most stores are alone. A loop with an instruction that is not known has a
 * fault for it each time that it comes round, where a twin has one for the page. */
static bool is_worth_it(struct mapping_loops *loops, struct mapping_loop_tries *tries, bool goes_on,
                        bool twin)
{
    if (loops->cut && goes_on && twin)
        count_short(tries);
    loops->cut = false;
    if (!twin && !goes_on && !tries->good)
        return false;
    if (tries->skip == 0)
        return true;
    tries->skip--;
    return false;
}

/* A loop that goes on where its last run was full may store to more pages at once. */
static uint32_t window_of(const struct mapping_loops *loops, bool goes_on)
{
    if (!goes_on || loops->window == 0)
        return WINDOW_MIN;
    return loops->window < WINDOW_MAX ? loops->window * 2 : WINDOW_MAX;
}

static void remember(struct mapping_loops *loops, struct mapping_loop_tries *tries,
                     const struct mapping_loop_sink *sink, const struct mapping_loop_run *run)
{
    bool is_long = !run->cut || sink->full || sink->to - sink->from >= sink->space->page_size;
    loops->from = sink->from;
    loops->to = sink->to;
    loops->window = sink->collects && (sink->full || !run->cut) ? sink->window : 0;
    loops->cut = run->cut && !sink->full;
    loops->pay = is_long;
    tries->good = run->stores >= FEW / 2;
    if (is_long)
        tries->shorts = 0;
    else if (run->stores < (sink->collects ? FEW : 2))
        count_short(tries);
}

bool mapping_loop_stores(struct mapping_space *space, const struct mapping_loop_view *view,
                         const struct mapping_store *store, bool twin, ucontext_t *context)
{
    struct mapping_loops *loops = &space->loops;
    struct mapping_loop_tries *tries = tries_of(space, mapping_instruction(context));
    uint64_t offset = store->address - view->origin;
    bool goes_on = loops->to > 0 && (offset == loops->to || offset + store->width == loops->from);
    loops->pay = false;
    loops->from = offset;
    loops->to = offset + store->width;
    if (loops->state == NULL || space->dead || !is_worth_it(loops, tries, goes_on, twin))
        return false;
    struct mapping_loop_sink sink = {.space = space,
                                     .view = view,
                                     .asked = true,
                                     .collects = twin,
                                     .window = window_of(loops, goes_on)};
    struct mapping_loop_run run = mapping_loop_run(loops->state, context, &sink);
    if (run.stores == 0)
        return false;
    send_collected(&sink);
    remember(loops, tries, &sink, &run);
    return true;
}
