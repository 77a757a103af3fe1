/* SPDX-License-Identifier: BSD-3-Clause */
/* Which pages get a twin. While a page has one, a store of a value that it has already is not seen;
 * it is lost if the peer has changed the byte since the twin was made. So only pages that a copy
 * operation goes through get one, and none in which anything else was stored that the peer may
 * answer: a bell is rung again, payload is stored beside it.
 *
 * A stretch is what one copy operation has stored to one page: it goes on at its edges, and stores
 * no byte twice. What ends it is the page's past. */
#include "mapping/space.h"

#include <string.h>

enum { STRIDE = 128 };       /* bytes between two stores of one copy, at most */
enum { EDGE = 256 };         /* bytes behind its end that it stores at last, at most */
enum { PASSED = 4 };         /* pages that a copy has gone through before more are expected of it */
enum { GOES_ON_US = 10000 }; /* a copy goes on within that time, or it is another one */
enum { BITS = 64 };

/* ---------------------------------------------------------------- stretches */

static bool is_whole(const struct mapping_space *space, const struct mapping_stretch *stretch)
{
    return stretch->count >= mapping_page_bytes(space, stretch->page) / 8 * 7;
}

static void become_past(struct mapping_space *space, uint32_t page, enum mapping_past past)
{
    space->page[page].past = (uint8_t)past;
    space->page[page].past_epoch = atomic_load(&space->epoch);
}

static void end_stretch(struct mapping_space *space, struct mapping_stretch *stretch)
{
    if (stretch->count > 0)
        become_past(space, stretch->page,
                    is_whole(space, stretch) ? MAPPING_PAST_WHOLE : MAPPING_PAST_PARTS);
    stretch->count = 0;
}

static struct mapping_stretch *find(struct mapping_space *space, uint32_t page)
{
    for (unsigned i = 0; i < MAPPING_STRETCHES; i++)
        if (space->stretches[i].count > 0 && space->stretches[i].page == page)
            return &space->stretches[i];
    return NULL;
}

/* An unused one, or the one that was used longest ago, which has ended then. */
static struct mapping_stretch *make_room(struct mapping_space *space)
{
    struct mapping_stretch *oldest = &space->stretches[0];
    for (unsigned i = 1; i < MAPPING_STRETCHES && oldest->count > 0; i++) {
        struct mapping_stretch *other = &space->stretches[i];
        if (other->count == 0 || other->used < oldest->used)
            oldest = other;
    }
    end_stretch(space, oldest);
    return oldest;
}

/* The bits of a word, counted from bit 0 of the first, that are in [from, to). */
static uint64_t bits_of(size_t word, size_t from, size_t to)
{
    size_t first = word * BITS, last = first + BITS;
    uint64_t low = from > first ? UINT64_MAX << (from - first) : UINT64_MAX;
    uint64_t high = to < last ? UINT64_MAX >> (last - to) : UINT64_MAX;
    return low & high;
}

static void add(struct mapping_stretch *stretch, size_t at, size_t length)
{
    uint32_t fresh = 0;
    if (stretch->count == 0 && at == 0 && length % BITS == 0) { /* as a copy goes through it */
        memset(stretch->bytes, 0xff, length / 8);
        fresh = (uint32_t)length;
    }
    for (size_t word = at / BITS; fresh == 0 && word * BITS < at + length; word++) {
        uint64_t bits = bits_of(word, at, at + length);
        fresh += (uint32_t)__builtin_popcountll(bits & ~stretch->bytes[word]);
        stretch->bytes[word] |= bits;
    }
    stretch->count += fresh;
    stretch->from = at < stretch->from ? (uint32_t)at : stretch->from;
    stretch->to = at + length > stretch->to ? (uint32_t)(at + length) : stretch->to;
}

/* Near one of its edges, where copies put the vectors that they begin and end with; and not all of
 * it stored before. */
static bool goes_on_with(const struct mapping_stretch *stretch, size_t at, size_t length)
{
    size_t from = stretch->from, to = stretch->to;
    bool above = at <= to + STRIDE && at + EDGE >= to;
    bool below = at + length + STRIDE >= from && at + length <= from + EDGE;
    if (!above && !below)
        return false;
    bool fresh = false;
    for (size_t word = at / BITS; word * BITS < at + length && !fresh; word++)
        fresh = (bits_of(word, at, at + length) & ~stretch->bytes[word]) != 0;
    return fresh;
}

static struct mapping_stretch *begin(struct mapping_space *space, uint32_t page)
{
    struct mapping_stretch *stretch = make_room(space);
    memset(stretch->bytes, 0, space->page_size / 8);
    stretch->page = page;
    stretch->from = UINT32_MAX;
    stretch->to = 0;
    return stretch;
}

/* The copy has come to the page over its edge from the page before or after: it has gone through
 * that. */
static bool crosses(struct mapping_space *space, uint32_t page, size_t at, size_t length)
{
    size_t edge = space->page_size / 32;
    bool up = at<edge, down = at + length + edge> space->page_size;
    return (up && page == space->latest + 1) || (down && page + 1 == space->latest);
}

static void pass(struct mapping_space *space, uint32_t page)
{
    struct mapping_stretch *stretch = find(space, page);
    bool went_through = space->page[page].state == MAPPING_RW ||
                        (stretch != NULL && is_whole(space, stretch)) ||
                        space->page[page].past == MAPPING_PAST_WHOLE;
    space->passed = went_through ? space->passed + 1 : 0;
    if (!went_through || space->page[page].past == MAPPING_PAST_PARTS)
        return;
    become_past(space, page, MAPPING_PAST_WHOLE);
    if (stretch != NULL)
        stretch->count = 0;
}

/* The stretch that a store belongs to. *begun: it is its first. */
static struct mapping_stretch *note(struct mapping_space *space, uint32_t page, size_t at,
                                    size_t length, bool *begun)
{
    struct mapping_stretch *stretch = find(space, page);
    *begun = stretch == NULL || !goes_on_with(stretch, at, length);
    if (*begun) {
        if (stretch != NULL)
            end_stretch(space, stretch);
        if (space->latest != MAPPING_NO_PAGE && crosses(space, page, at, length))
            pass(space, space->latest);
        else
            space->passed = 0;
        stretch = begin(space, page);
    }
    add(stretch, at, length);
    stretch->used = ++space->stretch_turn;
    space->latest = page;
    return stretch;
}

void mapping_prefer_flushed(struct mapping_space *space, uint32_t page)
{
    struct mapping_page *entry = &space->page[page];
    struct mapping_stretch *stretch = find(space, page);
    if (!entry->cut_short)
        return; /* nothing was sent */
    if (stretch != NULL)
        add(stretch, entry->sent_from, (size_t)entry->sent_last + 1 - entry->sent_from);
    else if (entry->past == MAPPING_PAST_NONE)
        become_past(space, page, MAPPING_PAST_PARTS);
    entry->past_epoch = atomic_load(&space->epoch);
}

void mapping_prefer_forget(struct mapping_space *space, uint32_t page)
{
    struct mapping_stretch *stretch = find(space, page);
    if (stretch != NULL)
        stretch->count = 0;
    space->page[page].past = MAPPING_PAST_NONE;
}

/* ---------------------------------------------------------------- the choice */

/* Copies go from page to page, in either direction: a neighbour of the page that became RW last. */
static bool goes_on_from_page(const struct mapping_space *space, uint32_t page, uint64_t now)
{
    return space->streak != MAPPING_NO_PAGE &&
           (page == space->streak + 1 || page + 1 == space->streak) &&
           now - space->streak_since < GOES_ON_US;
}

/* A flush in the background took the twin away amid a copy, which goes on where it was. A barrier
 * ends that: what comes then may be another thing. */
static bool goes_on_in_page(const struct mapping_space *space, uint32_t page, size_t at,
                            uint64_t now)
{
    const struct mapping_page *entry = &space->page[page];
    if (!entry->cut_short || entry->epoch != atomic_load(&space->epoch) ||
        now - entry->since >= GOES_ON_US)
        return false;
    return (at > entry->sent_last && at - entry->sent_last <= STRIDE) ||
           (at < entry->sent_from && entry->sent_from - at <= STRIDE);
}

/* Whether the page has nothing but the stretch that the peer might answer. A page that was stored
 * as a whole holds a bell no more than payload, as soon as there was a barrier since, or where it
 * is one of many. */
static bool may_have_twin(const struct mapping_space *space, const struct mapping_stretch *stretch)
{
    const struct mapping_page *entry = &space->page[stretch->page];
    if (stretch->count * 2 < stretch->to - stretch->from)
        return false; /* words here and there */
    if (entry->past == MAPPING_PAST_WHOLE)
        return entry->past_epoch != atomic_load(&space->epoch) || space->passed >= PASSED;
    return entry->past == MAPPING_PAST_NONE;
}

/* However long it takes: on a busy machine, or one that is slow to trap, a copy is no less one. */
static void count_stores(struct mapping_space *space, uint32_t page, unsigned weight, bool begun)
{
    struct mapping_page *entry = &space->page[page];
    uint32_t epoch = atomic_load(&space->epoch);
    if (begun || entry->epoch != epoch) {
        entry->stores = 0;
        entry->epoch = epoch;
    }
    entry->stores =
        (uint16_t)(entry->stores + weight < UINT16_MAX ? entry->stores + weight : UINT16_MAX);
}

/* Whether pages like that never get one. */
static bool stays_decoded(const struct mapping_space *space, uint32_t page)
{
    return space->options.mode == MAPPING_PRECISE || space->page[page].two_way ||
           space->options.threshold == MAPPING_THRESHOLD_NEVER;
}

bool mapping_prefers_twin(struct mapping_space *space, uint32_t page, size_t at, size_t length,
                          unsigned weight)
{
    struct mapping_page *entry = &space->page[page];
    if (!mapping_may_read(space))
        return false; /* there is nothing to make one of */
    if (space->options.mode == MAPPING_TWIN || space->dead)
        return true;
    if (stays_decoded(space, page))
        return false;
    uint64_t now = space->now();
    bool goes_on = goes_on_from_page(space, page, now) || goes_on_in_page(space, page, at, now);
    bool begun;
    const struct mapping_stretch *stretch = note(space, page, at, length, &begun);
    count_stores(space, page, weight, begun);
    return (goes_on || entry->stores >= space->options.threshold) && may_have_twin(space, stretch);
}

/* One page of what follows a first store. */
static void follow(struct mapping_space *space, uint32_t page, size_t at, size_t length,
                   unsigned weight)
{
    bool begun;
    if (stays_decoded(space, page))
        return;
    (void)note(space, page, at, length, &begun);
    count_stores(space, page, weight, begun);
}

void mapping_prefer_copied(struct mapping_space *space, uint64_t offset, size_t length)
{
    uint64_t end = offset + length, size = space->page_size;
    if (!mapping_may_read(space) || space->options.mode == MAPPING_TWIN || space->dead)
        return;
    for (offset += size - offset % size; offset < end; offset += size)
        follow(space, mapping_page_of(space, offset), 0,
               (size_t)(end - offset < size ? end - offset : size), 1);
}

void mapping_prefer_looped(struct mapping_space *space, uint64_t from, uint64_t to, bool down)
{
    uint64_t size = space->page_size;
    if (from == to)
        return;
    uint32_t first = mapping_page_of(space, from), last = mapping_page_of(space, to - 1);
    for (uint32_t done = 0; done <= last - first; done++) {
        uint32_t page = down ? last - done : first + done;
        uint64_t here = page * size, at = from > here ? from - here : 0;
        uint64_t end = to < here + size ? to - here : size;
        follow(space, page, (size_t)at, (size_t)(end - at), (unsigned)(end - at) / 8);
        space->streak = page;
    }
    space->streak_since = space->now();
}

/* Whether nothing was stored to the page that the peer might answer. */
static bool is_untouched(struct mapping_space *space, uint32_t page)
{
    const struct mapping_page *entry = &space->page[page];
    if (!mapping_may_read(space) || space->dead || stays_decoded(space, page) ||
        find(space, page) != NULL)
        return false;
    return entry->past == MAPPING_PAST_NONE ||
           (entry->past == MAPPING_PAST_WHOLE && entry->past_epoch != atomic_load(&space->epoch));
}

bool mapping_prefer_passes(struct mapping_space *space, uint32_t page)
{
    return is_untouched(space, page) ||
           (space->passed >= PASSED && space->page[page].past == MAPPING_PAST_WHOLE &&
            !stays_decoded(space, page) && find(space, page) == NULL);
}

bool mapping_is_passing(struct mapping_space *space, uint32_t page)
{
    return goes_on_from_page(space, page, space->now()) && is_untouched(space, page);
}
