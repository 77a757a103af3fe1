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

/* TRIES: pages that are spared, for one that is taken. ENTRIES: of the table, in a page of it. */
enum { TRIES = 8, ENTRIES = 64 };

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

/* The page, which is NONE, has no memory any more. */
static void release(struct mapping_space *space, uint32_t page)
{
    struct mapping_cache *cache = &space->cache;
    struct mapping_page *entry = &space->page[page];
    if (entry->known && !MAPPING_DEFECT(MAPPING_FORGETFUL))
        cache->digest[page] =
            entry->unseen ? OUTDATED : digest_of(space, mapping_copy_of(space, page));
    *entry = (struct mapping_page){.posted = entry->posted};
    mapping_prefer_forget(space, page);
    space->release_pages(space, page, 1);
    space->counters.evictions++;
    if (--cache->holders[page / ENTRIES] == 0)
        release_entries(space, page);
}

static bool is_in_use(const struct mapping_space *space, uint32_t page)
{
    return space->page[page].state != MAPPING_NONE;
}

/* Take the memory of one page that is not in [first, first + count). */
static void evict(struct mapping_space *space, uint32_t first, uint32_t count)
{
    unsigned spared = 0;
    for (uint32_t left = space->cache.count; left > 0; left--) {
        uint32_t page = pop(space);
        if (page - first < count || (is_in_use(space, page) && spared++ < TRIES && left > 1)) {
            push(space, page);
            continue;
        }
        if (space->page[page].state == MAPPING_RW)
            mapping_flush(space);
        if (space->page[page].state == MAPPING_RO)
            mapping_drop_clean(space, page, 1);
        release(space, page);
        return;
    }
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

uint32_t mapping_cache_room(struct mapping_space *space, uint32_t first, uint32_t count)
{
    struct mapping_cache *cache = &space->cache;
    if (cache->limit == 0)
        return count;
    if (count > cache->limit / 2)
        count = cache->limit > 1 ? cache->limit / 2 : 1;
    uint32_t more = 0;
    for (uint32_t page = first; page < first + count; page++)
        more += !space->page[page].held;
    while (cache->count > 0 && cache->count + more > cache->limit)
        evict(space, first, count);
    for (uint32_t page = first; page < first + count; page++)
        hold(space, page);
    return count;
}
