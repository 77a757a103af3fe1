/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many pages have memory here. Those that have stand in a ring, oldest first. A page that needs
 * memory when the ring is full takes that of the oldest one, or of the oldest that is not in use
 * just now.
 *
 * What a page had when it lost its memory is kept as a digest. So when it comes back it is known
 * whether the peer has changed it, on which the order of loads depends.
 */
#include "mapping/space.h"

#include "mapping/defects.h"

enum {
    TRIES = 8,    /* pages in use that are spared, for one that is taken */
    BATCH = 32,   /* pages that lose their memory together */
    ENTRIES = 64, /* of the table, in a page of it */
};

/* Digests that stand for nothing, and for contents that are not the segment's any more. */
enum { NO_DIGEST = 0, OUTDATED = 1, DIGEST_FIRST = 2 };

static uint64_t mix(uint64_t value)
{
    value ^= value >> 32;
    value *= UINT64_C(0xd6e8feb86659fd93);
    value ^= value >> 32;
    value *= UINT64_C(0xd6e8feb86659fd93);
    return value ^ value >> 32;
}

/* Four lanes, which a processor works on side by side. */
static uint64_t digest_of(const struct mapping_space *space, const uint8_t *contents)
{
    const uint64_t *word = (const uint64_t *)(const void *)contents;
    uint64_t lane[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < space->page_size / sizeof *word; i += 4)
        for (size_t j = 0; j < 4; j++)
            lane[j] = (lane[j] ^ word[i + j]) * UINT64_C(0x9e3779b97f4a7c15) + (lane[j] >> 29);
    uint64_t digest = mix(lane[0]) ^ mix(lane[1] + 1) ^ mix(lane[2] + 2) ^ mix(lane[3] + 3);
    return digest < DIGEST_FIRST ? digest + DIGEST_FIRST : digest;
}

bool mapping_cache_differs(const struct mapping_space *space, uint32_t page, const uint8_t *fresh)
{
    if (space->cache.limit == 0 || space->cache.digest[page] == NO_DIGEST)
        return false;
    return space->cache.digest[page] != digest_of(space, fresh);
}

void mapping_cache_forget(struct mapping_space *space, uint32_t page)
{
    if (space->cache.limit != 0 && space->cache.digest[page] != NO_DIGEST)
        space->cache.digest[page] = NO_DIGEST;
}

/* ---------------------------------------------------------------- the ring */

static void push(struct mapping_space *space, uint32_t page)
{
    struct mapping_cache *cache = &space->cache;
    cache->ring[(cache->first + cache->count++) % cache->limit] = page;
}

static uint32_t pop(struct mapping_space *space)
{
    struct mapping_cache *cache = &space->cache;
    uint32_t page = cache->ring[cache->first];
    cache->first = (cache->first + 1) % cache->limit;
    cache->count--;
    return page;
}

static void hold(struct mapping_space *space, uint32_t page)
{
    if (space->page[page].held)
        return;
    space->page[page].held = true;
    space->cache.holders[page / ENTRIES]++;
    push(space, page);
}

/* What the table has of these pages is nothing but what they have sent. */
static void release_entries(struct mapping_space *space, uint32_t page)
{
    uint32_t first = page / ENTRIES * ENTRIES;
    uint32_t end = first + ENTRIES < space->page_count ? first + ENTRIES : space->page_count;
    for (uint32_t i = first; i < end; i++)
        if (space->page[i].posted > space->completed) {
            mapping_settle(space);
            break;
        }
    space->release_entries(space, first, end - first);
}

/* The page, which is NONE, is as one that was never used. */
static void forget(struct mapping_space *space, uint32_t page)
{
    struct mapping_cache *cache = &space->cache;
    struct mapping_page *entry = &space->page[page];
    if (entry->known && !MAPPING_DEFECT(MAPPING_FORGETFUL))
        cache->digest[page] =
            entry->unseen ? OUTDATED : digest_of(space, mapping_copy_of(space, page));
    *entry = (struct mapping_page){.posted = entry->posted};
    mapping_prefer_forget(space, page);
    atomic_fetch_add(&space->evicted, 1);
    if (--cache->holders[page / ENTRIES] == 0)
        release_entries(space, page);
}

/* Pages beside each other, whose memory goes by one call. */
struct run {
    uint32_t first, count;
};

static void release_run(struct mapping_space *space, struct run *run)
{
    if (run->count > 0)
        space->release_pages(space, run->first, run->count);
    run->count = 0;
}

static void add_to_run(struct mapping_space *space, struct run *run, uint32_t page)
{
    if (page != run->first + run->count && page + 1 != run->first)
        release_run(space, run);
    if (run->count == 0 || page < run->first)
        run->first = page;
    run->count++;
}

static bool is_in_use(const struct mapping_space *space, uint32_t page)
{
    return space->page[page].state != MAPPING_NONE;
}

static void close_page(struct mapping_space *space, uint32_t page)
{
    if (space->page[page].state == MAPPING_RW)
        mapping_flush(space);
    if (space->page[page].state == MAPPING_RO)
        mapping_drop_clean(space, page, 1);
}

/* Take the memory of pages that are not in [first, first + count): of @p needed, and of up to @p
 * wanted if they are not in use. There are as many. */
static void evict(struct mapping_space *space, uint32_t first, uint32_t count, uint32_t needed,
                  uint32_t wanted)
{
    struct run run = {0, 0};
    unsigned spared = 0;
    uint32_t taken = 0, round = space->cache.count;
    for (uint32_t i = 0; taken < needed || (taken < wanted && i < round); i++) {
        uint32_t page = pop(space);
        bool stays = page - first < count;
        bool spare = i < round && (spared < TRIES || taken >= needed) && is_in_use(space, page);
        if (stays || spare) {
            spared += spare;
            push(space, page);
            continue;
        }
        close_page(space, page);
        forget(space, page);
        add_to_run(space, &run, page);
        spared = 0;
        taken++;
    }
    release_run(space, &run);
}

/* One call takes many, as far as that does not empty the cache. */
static uint32_t batch(const struct mapping_cache *cache)
{
    uint32_t part = cache->limit / 8;
    return part < BATCH ? part : BATCH;
}

bool mapping_cache_clear(struct mapping_space *space)
{
    if (space->cache.limit == 0)
        return false;
    if (space->posted > space->completed)
        mapping_settle(space); /* the table has what is to be waited for before a read */
    for (unsigned i = 0; i < MAPPING_STRETCHES; i++)
        space->stretches[i].count = 0;
    mapping_memory_clear_tables(space);
    space->cache.first = space->cache.count = 0;
    return true;
}

uint32_t mapping_cache_max(const struct mapping_space *space)
{
    uint32_t limit = space->cache.limit;
    return limit == 0 ? space->page_count : limit > 1 ? limit / 2 : 1;
}

void mapping_cache_room(struct mapping_space *space, uint32_t first, uint32_t count)
{
    struct mapping_cache *cache = &space->cache;
    if (cache->limit == 0)
        return;
    uint32_t more = 0;
    for (uint32_t page = first; page < first + count; page++)
        more += !space->page[page].held;
    if (cache->count + more > cache->limit)
        evict(space, first, count, cache->count + more - cache->limit, batch(cache));
    for (uint32_t page = first; page < first + count; page++)
        hold(space, page);
}
