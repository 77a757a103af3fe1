/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/mirror.h"

#include <stdlib.h>
#include <string.h>

#include "mapping/defects.h"
#include "mapping/space.h"

/* Looking for stores costs a nanosecond or two for each page, so the background looks no more often
 * than once in a microsecond for so many pages, and a large mapping takes no processor for itself.
 */
enum { PAGES_PER_US = 64, BITS = 64 };
enum { QUIET_STEPS = 64 }; /* of the background, after which it may be slow */

static size_t words_of(const struct mapping_space *space)
{
    return (space->page_count + BITS - 1) / BITS;
}

static bool has(const uint64_t *set, uint32_t page)
{
    return (set[page / BITS] >> page % BITS & 1) != 0;
}

static void put_in(uint64_t *set, uint32_t page)
{
    set[page / BITS] |= UINT64_C(1) << page % BITS;
}

static void take_out(uint64_t *set, uint32_t page)
{
    set[page / BITS] &= ~(UINT64_C(1) << page % BITS);
}

enum rsm_status mapping_mirror_make(struct mapping_space *space,
                                    void (*look)(struct mapping_space *space))
{
    struct mapping_mirror *mirror = calloc(1, sizeof *mirror);
    if (mirror == NULL)
        return RSM_ST_NO_MEMORY;
    space->mirror = mirror;
    mirror->look = look;
    mirror->shown = calloc(words_of(space), sizeof *mirror->shown);
    mirror->stored = calloc(words_of(space), sizeof *mirror->stored);
    return mirror->shown != NULL && mirror->stored != NULL ? RSM_ST_OK : RSM_ST_NO_MEMORY;
}

void mapping_mirror_free(struct mapping_space *space)
{
    if (space->mirror == NULL)
        return;
    free(space->mirror->shown);
    free(space->mirror->stored);
    free(space->mirror);
    space->mirror = NULL;
}

void mapping_mirror_note(struct mapping_space *space, uint32_t first, uint32_t count)
{
    for (uint32_t page = first; page < first + count; page++)
        put_in(space->mirror->stored, page);
}

/* All bits of the bytes in which two words differ. */
static uint64_t differing_bytes(uint64_t a, uint64_t b)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t x = a ^ b, tops = (((x & low) + low) | x) & ~low;
    return (tops >> 7) * 0xff;
}

/* Bytes that are as in the twin become what was fetched, in both. The program may be storing to
 * this very word: what it stores after we have looked makes us look again. */
static void merge_word(_Atomic uint64_t *live, uint64_t *twin, uint64_t fetched)
{
    uint64_t seen = atomic_load_explicit(live, memory_order_relaxed), own, merged;
    do {
        own = MAPPING_DEFECT(MAPPING_BLIND_MERGE) ? 0 : differing_bytes(seen, *twin);
        merged = (seen & own) | (fetched & ~own);
        if (MAPPING_DEFECT(MAPPING_RACY_MERGE)) {
            atomic_store_explicit(live, merged, memory_order_relaxed);
            break;
        }
    } while (merged != seen && !atomic_compare_exchange_weak(live, &seen, merged));
    if (!MAPPING_DEFECT(MAPPING_MERGE_AS_OWN))
        *twin = (*twin & own) | (fetched & ~own);
}

/* Words of the twin that are as fetched leave nothing to do. The rest of the page beyond the end of
 * the segment is ignored. */
static void merge_page(struct mapping_space *space, uint32_t page, uint8_t *fetched)
{
    _Atomic uint64_t *live = (_Atomic uint64_t *)(void *)mapping_copy_of(space, page);
    uint64_t *twin = (uint64_t *)(void *)mapping_twin_of(space, page);
    const uint64_t *fresh = (const uint64_t *)(const void *)fetched;
    size_t bytes = mapping_page_bytes(space, page);
    memcpy(fetched + bytes, (const uint8_t *)twin + bytes, space->page_size - bytes);
    if (memcmp(twin, fetched, space->page_size) != 0) {
        space->mirror->quiet = 0;
        for (size_t i = 0; i < space->page_size / sizeof *fresh; i++)
            if (twin[i] != fresh[i])
                merge_word(&live[i], &twin[i], fresh[i]);
    }
    /* The kernel need not have noticed all stores: a device may have got the page before it looked,
     * and go on. This is only a hint to the next flush. */
    if (memcmp((const uint8_t *)twin, mapping_copy_of(space, page), bytes) != 0)
        put_in(space->mirror->stored, page);
}

static bool fetch(struct mapping_space *space, uint32_t first, uint32_t count)
{
    return !space->dead && mapping_fetch(space, first, count, space->buffer, NULL) == RSM_ST_OK;
}

/* No view shows the page yet. Without @p fetched its old contents remain. */
static void begin_page(struct mapping_space *space, uint32_t page, uint8_t *fetched)
{
    uint8_t *copy = mapping_copy_of(space, page);
    size_t bytes = mapping_page_bytes(space, page);
    if (fetched != NULL) {
        memset(fetched + bytes, 0, space->page_size - bytes);
        memcpy(copy, fetched, space->page_size);
    }
    memcpy(mapping_twin_of(space, page), copy, space->page_size);
}

uint32_t mapping_mirror_show(struct mapping_space *space, uint32_t first, uint32_t end)
{
    struct mapping_mirror *mirror = space->mirror;
    uint32_t count = 0;
    while (first < end && has(mirror->shown, first))
        first++;
    while (first + count < end && count < MAPPING_BUFFER_PAGES &&
           !has(mirror->shown, first + count))
        count++;
    bool fetched = count > 0 && fetch(space, first, count);
    for (uint32_t i = 0; i < count; i++) {
        begin_page(space, first + i, fetched ? space->buffer + i * space->page_size : NULL);
        put_in(mirror->shown, first + i);
    }
    space->counters.loads += fetched ? count : 0;
    mirror->shown_count += count;
    if (count > 0 && mirror->shown_count == count)
        space->woken(space);
    return first + count;
}

void mapping_mirror_keep(struct mapping_space *space, uint32_t first, uint32_t end)
{
    struct mapping_mirror *mirror = space->mirror;
    for (uint32_t page = first; page < end; page++) {
        mirror->shown_count += !has(mirror->shown, page);
        put_in(mirror->shown, page);
    }
}

void mapping_mirror_hide(struct mapping_space *space, uint32_t first, uint32_t end)
{
    struct mapping_mirror *mirror = space->mirror;
    for (uint32_t page = first; page < end; page++) {
        mirror->shown_count -= has(mirror->shown, page);
        take_out(mirror->shown, page);
        take_out(mirror->stored, page);
    }
}

/* Aligned words in one piece, for what is compared is also what is sent. */
static const uint8_t *take_snapshot(struct mapping_space *space, uint32_t page)
{
    _Atomic uint64_t *live = (_Atomic uint64_t *)(void *)mapping_copy_of(space, page);
    uint64_t *snapshot = (uint64_t *)(void *)space->scratch;
    for (size_t i = 0; i < space->page_size / sizeof *snapshot; i++)
        snapshot[i] = atomic_load_explicit(&live[i], memory_order_relaxed);
    return space->scratch;
}

static void send_page(struct mapping_runs *runs, uint32_t page)
{
    struct mapping_space *space = runs->space;
    const uint8_t *image = MAPPING_DEFECT(MAPPING_LIVE_POST) ? mapping_copy_of(space, page)
                                                             : take_snapshot(space, page);
    if (mapping_runs_add(runs, page, image)) {
        mapping_defect_window(MAPPING_LIVE_POST);
        memcpy(mapping_twin_of(space, page), image, space->page_size);
        space->mirror->quiet = 0;
    }
    space->counters.flushed_pages++;
}

void mapping_mirror_flush(struct mapping_space *space)
{
    struct mapping_mirror *mirror = space->mirror;
    struct mapping_runs runs = {.space = space};
    uint32_t end = space->page_count;
    if (mirror->shown_count == 0 || space->dead)
        return;
    mirror->looked = space->now();
    mirror->look(space);
    uint32_t page = mapping_next_bit(mirror->stored, 0, end);
    if (page == end)
        return;
    mapping_order(space);
    for (; page < end; page = mapping_next_bit(mirror->stored, page + 1, end)) {
        take_out(mirror->stored, page);
        send_page(&runs, page);
    }
    mapping_runs_send(&runs);
    space->counters.flushes++;
}

uint32_t mapping_mirror_refresh(struct mapping_space *space, uint32_t from, uint32_t end,
                                uint32_t max)
{
    const struct mapping_mirror *mirror = space->mirror;
    uint32_t first = mapping_next_bit(mirror->shown, from, end), count = 0;
    while (first + count < end && count < max && has(mirror->shown, first + count))
        count++;
    if (count == 0 || MAPPING_DEFECT(MAPPING_NO_REFRESH) || !fetch(space, first, count))
        return MAPPING_NO_PAGE;
    for (uint32_t i = 0; i < count; i++)
        merge_page(space, first + i, space->buffer + i * space->page_size);
    space->counters.refreshes += count;
    return first + count;
}

/* After a pass over the mapping and some time without any change, the mapping is probably unused:
 * slow the background down. */
static uint32_t slowness(const struct mapping_space *space)
{
    uint32_t turn = space->mirror->shown_count / MAPPING_MIRROR_PACE;
    uint32_t steps = turn > QUIET_STEPS ? turn : QUIET_STEPS;
    return space->mirror->quiet > steps ? MAPPING_MIRROR_SLOW : 1;
}

static uint32_t flush_interval(const struct mapping_space *space)
{
    uint32_t min = space->mirror->shown_count / PAGES_PER_US;
    return slowness(space) * (space->options.flush_us > min ? space->options.flush_us : min);
}

static uint32_t refresh_interval(const struct mapping_space *space)
{
    return slowness(space) * (space->options.refresh_us > 0 ? space->options.refresh_us : 1);
}

void mapping_mirror_service(struct mapping_space *space)
{
    struct mapping_mirror *mirror = space->mirror;
    if (mirror->shown_count == 0 || space->dead)
        return;
    if (space->now() - mirror->looked >= flush_interval(space))
        mapping_mirror_flush(space);
    if (space->now() - mirror->refreshed < refresh_interval(space))
        return;
    mirror->refreshed = space->now();
    if (mirror->quiet < UINT32_MAX)
        mirror->quiet++;
    uint32_t end = space->page_count;
    mirror->turn = mapping_mirror_refresh(space, mirror->turn, end, MAPPING_MIRROR_PACE);
    if (mirror->turn == MAPPING_NO_PAGE ||
        mapping_next_bit(mirror->shown, mirror->turn, end) == end)
        mirror->turn = 0;
}

uint32_t mapping_mirror_pause(const struct mapping_space *space)
{
    uint32_t flush = flush_interval(space), refresh = refresh_interval(space);
    if (space->mirror->shown_count == 0 || space->dead)
        return 0;
    return flush < refresh ? flush : refresh;
}
