/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/space.h"

#include <string.h>

#include "mapping/defects.h"

enum { REFRESHES_IN_A_ROW = 32, REREADS = 3, LINES = 64 };

static void wake(struct mapping_space *space)
{
    if (atomic_load(&space->clean_count) + atomic_load(&space->dirty_count) == 1)
        space->woken(space);
}

static void add_dirty(struct mapping_space *space, uint32_t page)
{
    space->page[page].next = MAPPING_NO_PAGE;
    if (space->dirty_first == MAPPING_NO_PAGE)
        space->dirty_first = page;
    else
        space->page[space->dirty_last].next = page;
    space->dirty_last = page;
    atomic_fetch_add(&space->dirty_count, 1);
    wake(space);
}

void mapping_note_stored(struct mapping_space *space, uint32_t page, size_t from, size_t length)
{
    size_t line = space->page_size / LINES;
    size_t first = from / line, last = (from + length - 1) / line;
    space->page[page].stored_lines |= UINT64_MAX << first & UINT64_MAX >> (LINES - 1 - last);
}

/* Whether the page as just fetched differs from what it was in a line that we have stored to. */
static bool peer_wrote_ours(const struct mapping_space *space, uint32_t page, const uint8_t *fresh)
{
    size_t line = space->page_size / LINES;
    const uint8_t *copy = mapping_copy_of(space, page);
    if (memcmp(copy, fresh, space->page_size) == 0)
        return false;
    for (unsigned i = 0; i < LINES; i++)
        if ((space->page[page].stored_lines >> i & 1) != 0 &&
            memcmp(copy + i * line, fresh + i * line, line) != 0)
            return true;
    return false;
}

/* Other threads may be loading: aligned words change in one go, and those that stay the same are
 * left alone. Volatile keeps the compiler from making a copy of it. */
__attribute__((no_sanitize_thread)) static void update(const struct mapping_space *space,
                                                       uint8_t *page, const uint8_t *fresh)
{
    volatile uint64_t *words = (uint64_t *)(void *)page;
    const uint64_t *new = (const uint64_t *)(const void *)fresh;
    for (size_t i = 0; i < space->page_size / sizeof *new; i++)
        if (words[i] != new[i])
            words[i] = new[i];
}

/* Fetch pages from the segment. False: they keep their last contents; the barrier reports the
 * error, and the program continues. *snapshot: as for mapping_fetch(). */
static bool fetch(struct mapping_space *space, uint32_t first, uint32_t count, uint8_t *into,
                  bool *snapshot)
{
    uint32_t last = first + count - 1;
    size_t bytes = mapping_page_bytes(space, last);
    if (space->dead)
        return false;
    if (bytes < space->page_size)
        memset(into + (last - first) * space->page_size + bytes, 0, space->page_size - bytes);
    return mapping_fetch(space, first, count, into, snapshot) == RSM_ST_OK;
}

/* The page has what was fetched. */
static void take(struct mapping_space *space, uint32_t page, const uint8_t *fresh)
{
    struct mapping_page *entry = &space->page[page];
    if (entry->known && !entry->two_way && entry->stored_lines != 0 &&
        peer_wrote_ours(space, page, fresh)) {
        entry->two_way = true;
        space->counters.two_way_pages++;
    }
    entry->known = true;
    mapping_cache_forget(space, page);
    if (entry->state != MAPPING_NONE)
        update(space, mapping_shown_of(space, page), fresh);
    if (entry->state == MAPPING_NONE || space->shown != NULL)
        memcpy(mapping_copy_of(space, page), fresh, space->page_size);
}

/* Words of the page in which what was fetched differs from the copy, counted up to 2. */
static unsigned changed_words(const struct mapping_space *space, uint32_t page,
                              const uint8_t *fresh)
{
    const uint64_t *old = (const uint64_t *)(const void *)mapping_copy_of(space, page);
    const uint64_t *new = (const uint64_t *)(const void *)fresh;
    unsigned count = 0;
    if (memcmp(old, new, space->page_size) == 0)
        return 0;
    for (size_t i = 0; i < space->page_size / sizeof *new &&count < 2; i++)
        count += old[i] != new[i];
    return count;
}

/* Whether the page differs from what it was when it was last known. */
static bool has_changed(const struct mapping_space *space, uint32_t page, const uint8_t *fresh)
{
    return space->page[page].known ? changed_words(space, page, fresh) > 0
                                   : mapping_cache_differs(space, page, fresh);
}

/* A read of pages may find a flag that was set, and not the data before it that was stored while
 * the read went on. Read them again until two reads agree; *agree: they did. Returns what was
 * fetched last, or NULL. */
static const uint8_t *fetch_again(struct mapping_space *space, uint32_t first, uint32_t count,
                                  bool *agree)
{
    size_t length = count * space->page_size;
    uint8_t *half[] = {space->buffer, space->buffer + length};
    unsigned last = 0;
    *agree = false;
    for (unsigned i = 0; i < REREADS && !*agree; i++) {
        last = 1 - last;
        if (!fetch(space, first, count, half[last], NULL))
            return NULL;
        *agree = memcmp(half[0], half[1], length) == 0;
    }
    return half[last];
}

/* The program is about to see in @p page what the peer has stored. What the peer stored before that
 * must not look older: the pages that were read earlier are read again when they are used. */
static void drop_older(struct mapping_space *space, uint32_t page)
{
    if (MAPPING_DEFECT(MAPPING_OLD_BESIDE_NEW))
        return;
    mapping_drop_clean(space, 0, page);
    mapping_drop_clean(space, page + 1, space->page_count - page - 1);
}

/* What was fetched of a run of pages that are NONE, beside the copies. */
struct difference {
    bool changed; /* one that was known, or had been, is not what it was */
    bool unseen;  /* one has a change that the program has not loaded */
    bool first;   /* one was not known */
};

static struct difference compare(const struct mapping_space *space, uint32_t first, uint32_t count)
{
    struct difference found = {.changed = false};
    for (uint32_t i = 0; i < count; i++) {
        const struct mapping_page *entry = &space->page[first + i];
        const uint8_t *fresh = space->buffer + i * space->page_size;
        found.unseen = found.unseen || entry->unseen;
        found.first = found.first || !entry->known;
        found.changed = found.changed || has_changed(space, first + i, fresh);
    }
    return found;
}

static void only_wanted(struct mapping_readahead *pages)
{
    pages->first = pages->wanted;
    pages->count = 1;
}

/* Read pages that are NONE until they can be shown together. Returns what the first of them has;
 * NULL: nothing could be read. The one that is wanted is left alone where the others would not be
 * of one moment with it. One alone that never stays the same is taken as it is. */
static const uint8_t *read_together(struct mapping_space *space, struct mapping_readahead *pages,
                                    struct difference *found)
{
    bool together = false;
    uint32_t first = pages->first;
    const uint8_t *fresh = space->buffer;
    if (!fetch(space, first, pages->count, space->buffer, &together))
        return NULL;
    *found = compare(space, first, pages->count);
    if (!found->changed && (!found->first || pages->count == 1))
        together = true;
    if (!together)
        fresh = fetch_again(space, first, pages->count, &together);
    if (fresh == NULL)
        return NULL;
    if (!together && !MAPPING_DEFECT(MAPPING_TORN_RUN))
        only_wanted(pages);
    return fresh + (pages->first - first) * space->page_size;
}

/* Have in the copies what the segment has, for pages that are NONE; fewer, where they must not be
 * shown together. */
static void bring(struct mapping_space *space, struct mapping_readahead *pages)
{
    struct difference found;
    const uint8_t *fresh = read_together(space, pages, &found);
    if (fresh == NULL) {
        only_wanted(pages);
        return;
    }
    /* Pages that the program has not loaded must not be older than one that it loads for the first
     * time; those that it has loaded may be. */
    if (found.changed || found.unseen)
        drop_older(space, pages->wanted);
    else if (found.first && !MAPPING_DEFECT(MAPPING_AHEAD_STAYS))
        mapping_ahead_drop(space);
    for (uint32_t i = 0; i < pages->count; i++) {
        space->page[pages->first + i].unseen = false;
        take(space, pages->first + i, fresh + i * space->page_size);
    }
}

/* A kernel that has no room for another kind of page in between gets larger kinds. */
static bool try_protect(struct mapping_space *space, uint32_t page, uint32_t count,
                        enum mapping_state state)
{
    if (space->protect(space, page, count, state))
        return true;
    mapping_flush(space);
    mapping_drop_clean(space, 0, space->page_count);
    return space->protect(space, page, count, state);
}

/* A page is about to be read and shown. An open barrier that takes no lock passes none of those. */
static void begin_reading(struct mapping_space *space)
{
    atomic_store_explicit(&space->reading, !MAPPING_DEFECT(MAPPING_BLIND_OPEN),
                          memory_order_relaxed);
    rsm_fence_full();
}

static void end_reading(struct mapping_space *space)
{
    atomic_store(&space->reading, false);
}

/* Let threads at a page whose state is about to say so. They need not wait for that, so until
 * settled() a barrier that takes no lock does not believe the counts. */
static bool protect(struct mapping_space *space, uint32_t page, uint32_t count,
                    enum mapping_state state)
{
    atomic_store(&space->opening, true);
    bool done = try_protect(space, page, count, state);
    if (!done)
        atomic_store(&space->opening, false);
    return done;
}

static void settled(struct mapping_space *space)
{
    atomic_store(&space->opening, false);
}

bool mapping_reassert(struct mapping_space *space, uint32_t page)
{
    return try_protect(space, page, 1, space->page[page].state);
}

/* The views show the copies of pages that are NONE, or at least of the wanted one. */
static bool show_clean(struct mapping_space *space, struct mapping_readahead *pages)
{
    if (!protect(space, pages->first, pages->count, MAPPING_RO)) {
        mapping_close(space, pages->first, pages->count);
        only_wanted(pages);
        if (!protect(space, pages->first, pages->count, MAPPING_RO))
            return false;
    }
    uint64_t now = space->now();
    for (uint32_t page = pages->first; page < pages->first + pages->count; page++) {
        space->page[page].state = MAPPING_RO;
        space->page[page].since = now;
        space->page[page].ahead = pages->count > 1 ? (uint8_t)pages->count : 0;
        mapping_clean_add(space, page);
        wake(space);
    }
    settled(space);
    return true;
}

bool mapping_load(struct mapping_space *space, uint32_t page)
{
    if (space->page[page].state != MAPPING_NONE)
        return true;
    if (!mapping_may_read(space))
        return false;
    struct mapping_readahead pages = mapping_ahead(space, page);
    mapping_cache_room(space, pages.first, pages.count);
    uint64_t start = space->now();
    begin_reading(space);
    bring(space, &pages);
    mapping_ahead_took(space, space->now() - start);
    bool shown = show_clean(space, &pages);
    end_reading(space);
    if (!shown)
        return false;
    space->page[page].refreshes = 0;
    space->counters.loads += pages.count;
    return true;
}

/* The page as the segment has it, with a twin of that. */
static bool show_dirty(struct mapping_space *space, uint32_t page)
{
    struct mapping_page *entry = &space->page[page];
    if (!(MAPPING_DEFECT(MAPPING_STALE_TWIN) && entry->known) &&
        fetch(space, page, 1, space->buffer, NULL)) {
        entry->unseen |= has_changed(space, page, space->buffer);
        take(space, page, space->buffer);
    }
    memcpy(mapping_twin_of(space, page), mapping_copy_of(space, page), space->page_size);
    if (!protect(space, page, 1, MAPPING_RW))
        return false;
    if (entry->state == MAPPING_RO)
        mapping_clean_remove(space, page);
    entry->state = MAPPING_RW;
    entry->since = space->now();
    entry->stores = 0;
    entry->stored_lines = 0;
    entry->cut_short = false;
    entry->renewed = 0;
    add_dirty(space, page);
    settled(space);
    return true;
}

bool mapping_promote(struct mapping_space *space, uint32_t page)
{
    struct mapping_page *entry = &space->page[page];
    if (entry->state == MAPPING_RW)
        return true;
    if (!mapping_may_read(space))
        return false;
    mapping_cache_room(space, page, 1);
    begin_reading(space);
    bool shown = show_dirty(space, page);
    end_reading(space);
    if (!shown)
        return false;
    space->streak = page;
    space->streak_since = entry->since;
    space->counters.promotions++;
    return true;
}

void mapping_show(struct mapping_space *space, uint64_t offset, size_t length)
{
    uint64_t end = offset + length;
    while (space->shown != NULL && offset < end) {
        uint32_t page = mapping_page_of(space, offset);
        uint64_t next = ((uint64_t)page + 1) * space->page_size;
        uint64_t to = next < end ? next : end;
        if (space->page[page].state != MAPPING_NONE)
            memcpy(space->shown + offset, space->copy + offset, (size_t)(to - offset));
        offset = to;
    }
}

/* Where the page has a twin the bytes are in both: they are sent here and must not be again, for
 * the peer may have written there meanwhile. */
static void store_locally(struct mapping_space *space, uint32_t page, size_t at, const void *bytes,
                          size_t length)
{
    struct mapping_page *entry = &space->page[page];
    if (entry->state == MAPPING_RW)
        memcpy(mapping_twin_of(space, page) + at, bytes, length);
    /* Without a peer the copies are the memory. */
    bool is_memory = space->dead && mapping_may_read(space);
    if (entry->known || entry->state != MAPPING_NONE || is_memory) {
        memcpy(mapping_copy_of(space, page) + at, bytes, length);
        mapping_show(space, (uint64_t)page * space->page_size + at, length);
        mapping_note_stored(space, page, at, length);
    }
}

uint8_t *mapping_store_room(struct mapping_space *space, size_t length)
{
    if (!MAPPING_DEFECT(MAPPING_NO_O1) && atomic_load(&space->dirty_count) > 0)
        mapping_flush(space);
    /* The peer may have gone with the flush: what was to be stored is as long as before. */
    bool nowhere = space->dead && length <= space->page_size;
    return nowhere ? space->scratch : mapping_buffer(space, length);
}

static void store_in_copies(struct mapping_space *space, uint64_t offset, const uint8_t *room,
                            size_t length)
{
    for (size_t done = 0, here; done < length; done += here) {
        uint32_t page = mapping_page_of(space, offset + done);
        size_t at = (size_t)((offset + done) % space->page_size), left = length - done;
        here = left < space->page_size - at ? left : space->page_size - at;
        store_locally(space, page, at, room + done, here);
    }
}

void mapping_store_from(struct mapping_space *space, uint64_t offset, const uint8_t *room,
                        size_t length)
{
    store_in_copies(space, offset, room, length);
    space->counters.stores++;
    if (space->dead)
        return;
    if (!MAPPING_DEFECT(MAPPING_NO_O1))
        mapping_order(space);
    const struct rsm_transfer piece = {
        .local = (void *)(uintptr_t)room, .remote = offset, .length = length};
    (void)mapping_send(space, &piece, 1);
    if (space->dead) /* since now: the program finds it here */
        store_in_copies(space, offset, room, length);
}

void mapping_store(struct mapping_space *space, uint64_t offset, const void *bytes, size_t length)
{
    uint8_t *room = mapping_store_room(space, length);
    memcpy(room, bytes, length);
    mapping_store_from(space, offset, room, length);
}

/* Have the page, which is RO, show what the segment has. */
static void show_again(struct mapping_space *space, uint32_t page)
{
    struct mapping_page *entry = &space->page[page];
    bool whole = false;
    if (!fetch(space, page, 1, space->buffer, &whole) ||
        changed_words(space, page, space->buffer) == 0)
        return;
    const uint8_t *fresh = whole ? space->buffer : fetch_again(space, page, 1, &whole);
    if (fresh == NULL)
        return;
    unsigned words = changed_words(space, page, fresh);
    drop_older(space, page);
    if (words > 1 && !MAPPING_DEFECT(MAPPING_OLD_BESIDE_NEW)) /* they cannot appear at once */
        mapping_drop_clean(space, page, 1);
    take(space, page, fresh);
    if (entry->state == MAPPING_NONE) {
        struct mapping_readahead alone = {.first = page, .count = 1, .wanted = page};
        (void)show_clean(space, &alone); /* else the next load brings it */
    }
}

void mapping_refresh(struct mapping_space *space, uint32_t page)
{
    struct mapping_page *entry = &space->page[page];
    if (entry->state != MAPPING_RO || MAPPING_DEFECT(MAPPING_NO_REFRESH))
        return;
    if (++entry->refreshes >= REFRESHES_IN_A_ROW && !space->dead) {
        mapping_drop_clean(space, page, 1);
        return;
    }
    space->counters.refreshes++;
    entry->since = space->now();
    begin_reading(space);
    show_again(space, page);
    end_reading(space);
}

static void drop_run(struct mapping_space *space, uint32_t first, uint32_t count)
{
    mapping_close(space, first, count);
    for (uint32_t page = first; page < first + count; page++)
        if (space->page[page].state == MAPPING_RO) {
            mapping_clean_remove(space, page);
            space->page[page].state = MAPPING_NONE;
        }
}

/* A run in the middle of equal pages may need more entries than the kernel's map has left; all
 * pages together need none. RW pages that lose their access so get it back with the next fault. */
void mapping_close(struct mapping_space *space, uint32_t first, uint32_t count)
{
    if (space->protect(space, first, count, MAPPING_NONE))
        return;
    (void)space->protect(space, 0, space->page_count, MAPPING_NONE);
    for (uint32_t page = mapping_next_clean(space, 0, space->page_count); page != MAPPING_NO_PAGE;
         page = mapping_next_clean(space, page, space->page_count)) {
        mapping_clean_remove(space, page);
        space->page[page].state = MAPPING_NONE;
    }
}

void mapping_drop_clean(struct mapping_space *space, uint32_t first, uint32_t count)
{
    uint32_t behind = first + count, page = mapping_next_clean(space, first, behind);
    while (page != MAPPING_NO_PAGE) {
        uint32_t end = page + 1;
        while (end < behind && mapping_next_clean(space, end, end + 1) == end)
            end++;
        drop_run(space, page, end - page);
        page = mapping_next_clean(space, end, behind);
    }
}

void mapping_forget(struct mapping_space *space)
{
    mapping_drop_clean(space, 0, space->page_count);
    if (mapping_cache_clear(space))
        return;
    for (uint32_t page = 0; page < space->page_count; page++) {
        space->page[page].known = false;
        space->page[page].two_way = false;
        space->page[page].stored_lines = 0;
        mapping_prefer_forget(space, page);
    }
}
