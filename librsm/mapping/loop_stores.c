/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the stores of a loop go that is carried out. Each is sent by itself, as if it had been
 * trapped, as long as its page has no twin for it. From there on they are collected, if they follow
 * one another upward or downward, and sent at once. */
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
    bool up, down;                 /* where the stores go on; neither: that is not known yet */
    uint64_t open_from, open_to;   /* the pages that they may go to */
    uint32_t window, open;         /* how many there may be, and are */
    uint8_t *room;                 /* memory for as many */
    uint64_t shows;                /* what of the segment the first byte of `room` is */
    bool full;                     /* the window, or a page that is not for them, ended the run */
};

/* ---------------------------------------------------------------- stores that are collected */

static uint8_t *room_of(const struct mapping_loop_sink *sink, uint64_t offset)
{
    return sink->room + (size_t)(offset - sink->shows);
}

/* A first store that goes to two pages has no direction: it is not for here. */
static bool begin(struct mapping_loop_sink *sink, uint64_t offset, uint64_t end)
{
    struct mapping_space *space = sink->space;
    uint64_t page = offset - offset % space->page_size;
    if (end > page + space->page_size)
        return false;
    sink->from = sink->noted_from = offset;
    sink->to = sink->noted_to = end;
    sink->shows = sink->open_from = page;
    sink->open_to = page + space->page_size;
    sink->open = 1;
    sink->room = mapping_store_room(space, sink->window * space->page_size);
    sink->collects = true;
    return true;
}

/* Whether the run may come to a page beside those that are open. */
static bool enter(struct mapping_loop_sink *sink, uint64_t offset)
{
    uint32_t page = mapping_page_of(sink->space, offset);
    if (sink->open == sink->window || !mapping_prefer_passes(sink->space, page)) {
        sink->full = true;
        return false;
    }
    sink->open++;
    return true;
}

static bool open_up(struct mapping_loop_sink *sink, uint64_t end)
{
    while (end > sink->open_to) {
        if (!enter(sink, sink->open_to))
            return false;
        sink->open_to += sink->space->page_size;
    }
    return true;
}

static bool open_down(struct mapping_loop_sink *sink, uint64_t offset)
{
    while (offset < sink->open_from) {
        if (!enter(sink, sink->open_from - 1))
            return false;
        sink->open_from -= sink->space->page_size;
    }
    return true;
}

/* From the second store on that is known. Downward the first page comes last. */
static void set_direction(struct mapping_loop_sink *sink, bool down)
{
    if (sink->up || sink->down)
        return;
    sink->up = !down;
    sink->down = down;
    if (!down)
        return;
    const uint8_t *first = room_of(sink, sink->from);
    sink->shows -= (uint64_t)(sink->window - 1) * sink->space->page_size;
    memmove(room_of(sink, sink->from), first, (size_t)(sink->to - sink->from));
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
    bool next = is_next(sink, offset, end);
    if (!next && !is_before(sink, offset, end))
        return false;
    if (next ? !open_up(sink, end) : !open_down(sink, offset))
        return false;
    set_direction(sink, !next);
    if (next)
        sink->to = end;
    else
        sink->from = offset;
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

void *mapping_loop_room(struct mapping_loop_sink *sink, uintptr_t address, size_t *length,
                        bool down)
{
    uint64_t from = address - sink->view->origin, to = from + *length;
    if (!sink->collects || sink->asked ||
        (down ? !sink->down || to != sink->from : !sink->up || from != sink->to))
        return NULL;
    if (down) {
        from = from < to && from > sink->view->from ? from : sink->view->from;
        (void)open_down(sink, from);
        from = from > sink->open_from ? from : sink->open_from;
    } else {
        to = to < sink->view->to ? to : sink->view->to;
        (void)open_up(sink, to);
        to = to < sink->open_to ? to : sink->open_to;
    }
    *length = (size_t)(to - from);
    return room_of(sink, from);
}

void mapping_loop_took(struct mapping_loop_sink *sink, size_t length)
{
    if (sink->down)
        sink->from -= length;
    else
        sink->to += length;
}

static void send(const struct mapping_loop_sink *sink, uint64_t from, uint64_t to)
{
    if (from < to)
        mapping_store_from(sink->space, from, room_of(sink, from), (size_t)(to - from));
}

/* At once, but for the page that the stores came to last, in which a program may look first. */
static void send_collected(const struct mapping_loop_sink *sink)
{
    uint64_t size = sink->space->page_size;
    if (sink->down) {
        uint64_t behind = sink->from - sink->from % size + size;
        uint64_t edge = behind < sink->to ? behind : sink->to;
        send(sink, edge, sink->to);
        send(sink, sink->from, edge);
        mapping_prefer_looped(sink->space, sink->from, sink->noted_from, true);
    } else {
        uint64_t last = sink->to - 1 - (sink->to - 1) % size;
        uint64_t edge = last > sink->from ? last : sink->from;
        send(sink, sink->from, edge);
        send(sink, edge, sink->to);
        mapping_prefer_looped(sink->space, sink->noted_to, sink->to, false);
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
    copy(room_of(sink, offset), bytes, length);
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
    if (sink.collects)
        send_collected(&sink);
    remember(loops, tries, &sink, &run);
    return true;
}
