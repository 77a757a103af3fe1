/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Every sequence of a few steps, and long random ones, over the real code of page states: an
 * importer that loads and stores, a peer that writes, a fabric that delivers late and out of order,
 * flushes, refreshes and barriers. What the engine does in one hold of its lock is one step.
 *
 * Three pages of 64 bytes. In page 0 byte 0 is the importer's and byte 1 the peer's. In page 1 byte
 * 0 is the importer's, and byte 1 is a bell: the importer rings with 1 and the peer clears. Byte 0
 * of page 2 is the peer's: it writes that before it writes the same to page 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapping/space.h"
#include "mapping/mirror.h"

enum {
    PAGE_BYTES = 64,
    PAGES = 3,
    PARCELS = 24,
    DEPTH = 6,
    SHORTER = 4,
    WALKS = 20000,
    WALK_STEPS = 60
};
enum { OWN_0 = 0, PEER_0 = 1, OWN_1 = PAGE_BYTES, BELL = PAGE_BYTES + 1, DATA_2 = 2 * PAGE_BYTES };
enum { SEGMENT = PAGES * PAGE_BYTES };

struct parcel {
    uint64_t group;
    uint32_t offset, length;
    uint8_t bytes[PAGE_BYTES];
};

/* All of the state, so that a copy of it is a place to come back to. */
static struct world {
    struct mapping_space space;
    struct mapping_page page[PAGES];
    uint64_t clean, clean_words;
    _Alignas(64) uint8_t copy[SEGMENT];
    _Alignas(64) uint8_t twins[SEGMENT];
    _Alignas(64) uint8_t buffer[(MAPPING_BUFFER_PAGES + 1) * PAGE_BYTES];
    uint64_t stretched[MAPPING_STRETCHES];
    enum mapping_state access[PAGES]; /* what the views allow */
    uint64_t time, group;
    struct mapping_mirror mirror; /* of that mode */
    uint64_t shown, stored;       /* its sets */
    uint64_t written;             /* what the kernel has noted, as another */
    uint32_t ring[PAGES];         /* of the cache */
    uint8_t holders;
    uint64_t digest[PAGES];

    uint8_t remote[SEGMENT];
    unsigned parcels;
    struct parcel parcel[PARCELS]; /* oldest first */

    uint8_t own[2];                /* last values stored to OWN_0 and OWN_1 */
    uint8_t peer, peer_seen;       /* last written to PEER_0, last loaded from there */
    uint8_t data_due;              /* what DATA_2 must have at least, because of what PEER_0 had */
    uint8_t excused;               /* what PEER_0 had in a load whose order is not promised */
    unsigned amid;                 /* that many reads go on while the peer writes, each time */
    bool flag_loaded, data_loaded; /* the program has loaded them */
    uint8_t before[256]; /* what OWN_0 was when that value was stored to OWN_1 by a trap */
    bool rung;           /* by a store that may not be lost, and not cleared since */
} world;

static const char *trail[DEPTH > WALK_STEPS ? DEPTH : WALK_STEPS];
static unsigned steps;
static unsigned long visited;

static void violated(const char *what)
{
    fprintf(stderr, "violated: %s\n", what);
    for (unsigned i = 0; i < steps; i++)
        fprintf(stderr, "  %s\n", trail[i]);
    exit(1);
}

#define HOLDS(condition, what)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            violated(what);                                                                        \
    } while (0)

/* ---------------------------------------------------------------- the fabric */

static void check_remote(void)
{
    HOLDS(world.remote[PEER_0] == world.peer && world.remote[DATA_2] == world.peer,
          "a byte of the peer was overwritten");
    HOLDS(world.remote[OWN_0] >= world.before[world.remote[OWN_1]],
          "a trapped store overtook an earlier one");
}

static void deliver(unsigned which)
{
    const struct parcel parcel = world.parcel[which];
    memcpy(world.remote + parcel.offset, parcel.bytes, parcel.length);
    world.parcels--;
    memmove(&world.parcel[which], &world.parcel[which + 1],
            (world.parcels - which) * sizeof world.parcel[0]);
    check_remote();
}

static bool may_go(unsigned which)
{
    const struct parcel *it = &world.parcel[which];
    for (unsigned i = 0; i < which; i++) {
        const struct parcel *other = &world.parcel[i];
        if (other->group < it->group ||
            (other->offset < it->offset + it->length && it->offset < other->offset + other->length))
            return false;
    }
    return true;
}

/* The newest that may: the order least like the one in which they were sent. */
static void deliver_newest(void)
{
    for (unsigned i = world.parcels; i-- > 0;)
        if (may_go(i)) {
            deliver(i);
            return;
        }
}

static enum rsm_status fabric_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                  size_t length)
{
    if (world.parcels == PARCELS)
        deliver(0);
    struct parcel *parcel = &world.parcel[world.parcels++];
    parcel->group = world.group;
    parcel->offset = (uint32_t)offset;
    parcel->length = (uint32_t)length;
    memcpy(parcel->bytes, src, length);
    return RSM_ST_OK;
}

static enum rsm_status fabric_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                        unsigned width, size_t count)
{
    return fabric_put(conn, offset, src, width * count);
}

static enum rsm_status fabric_putv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                   unsigned count, unsigned *done)
{
    for (*done = 0; *done < count; ++*done)
        (void)fabric_put(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return RSM_ST_OK;
}

static void peer_writes(void)
{
    world.remote[DATA_2] = ++world.peer;
    world.remote[PEER_0] = world.peer;
}

/* From the end to the beginning, which is the worse order where PEER_0 says that there is DATA_2.
 * Another thread's open barrier comes as a page is read: what is shown afterwards may be older. */
static enum rsm_status fabric_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    size_t first = length < PAGE_BYTES ? length : PAGE_BYTES;
    HOLDS(!mapping_shows_nothing(&world.space), "a barrier passes a page that is being read");
    memcpy((uint8_t *)dst + first, world.remote + offset + first, length - first);
    if (world.amid > 0) {
        world.amid--;
        peer_writes();
    }
    memcpy(dst, world.remote + offset, first);
    return RSM_ST_OK;
}

/* A read of one moment is not possible each time: then it is as above, and says so. */
static enum rsm_status fabric_get_snapshot(struct rsm_conn *conn, uint64_t offset, void *dst,
                                           size_t length, bool *snapshot)
{
    *snapshot = world.amid % 2 == 0;
    if (!*snapshot)
        return fabric_get(conn, offset, dst, length);
    HOLDS(!mapping_shows_nothing(&world.space), "a barrier passes a page that is being read");
    if (world.amid > 0) {
        world.amid--;
        peer_writes();
    }
    memcpy(dst, world.remote + offset, length);
    return RSM_ST_OK;
}

static enum rsm_status fabric_order(struct rsm_conn *conn)
{
    world.group++;
    return RSM_ST_OK;
}

static enum rsm_status fabric_complete(struct rsm_conn *conn)
{
    while (world.parcels > 0)
        deliver(0);
    return RSM_ST_OK;
}

static enum rsm_status fabric_health(struct rsm_conn *conn)
{
    return RSM_ST_OK;
}

static struct rsm_import_ops fabric_ops = {.put = fabric_put,
                                           .get = fabric_get,
                                           .put_elems = fabric_put_elems,
                                           .putv = fabric_putv,
                                           .order = fabric_order,
                                           .complete = fabric_complete,
                                           .health = fabric_health};
static struct rsm_conn fabric = {.ops = &fabric_ops};

/* ---------------------------------------------------------------- the machine */

static bool protect(struct mapping_space *space, uint32_t first, uint32_t count,
                    enum mapping_state state)
{
    for (uint32_t page = first; page < first + count; page++)
        world.access[page] = state;
    return true;
}

static uint64_t now(void)
{
    return world.time;
}

static void woken(struct mapping_space *space)
{
}

/* Who looks at what has been given back finds what was never there. */
static void release_pages(struct mapping_space *space, uint32_t first, uint32_t count)
{
    for (uint32_t page = first; page < first + count; page++)
        HOLDS(world.access[page] == MAPPING_NONE && !world.page[page].known,
              "a page in use has lost its memory");
    memset(world.copy + first * PAGE_BYTES, 0xee, count * PAGE_BYTES);
    memset(world.twins + first * PAGE_BYTES, 0xee, count * PAGE_BYTES);
}

static void release_entries(struct mapping_space *space, uint32_t first, uint32_t count)
{
    memset(&world.page[first], 0, count * sizeof world.page[0]);
}

static bool is_mirror(void)
{
    return world.space.mirror != NULL;
}

static void look(struct mapping_space *space)
{
    for (uint32_t page = 0; page < PAGES; page++)
        if (world.written >> page & 1)
            mapping_mirror_note(space, page, 1);
    world.written = 0;
}

/* As the handler does it. True: it was trapped. */
static bool store(uint32_t offset, uint8_t value)
{
    uint32_t page = offset / PAGE_BYTES;
    if (is_mirror()) {
        world.copy[offset] = value;
        world.written |= UINT64_C(1) << page;
        return false;
    }
    bool trapped = world.access[page] != MAPPING_RW;
    bool passing = trapped && mapping_is_passing(&world.space, page);
    bool decoded = trapped && !mapping_prefers_twin(&world.space, page, offset % PAGE_BYTES, 1, 1);
    HOLDS(!passing || !decoded, "a store is taken for that of a copy");
    if (decoded) {
        mapping_store(&world.space, offset, &value, 1);
        return true;
    }
    if (trapped)
        HOLDS(mapping_promote(&world.space, page), "a page could not be stored to");
    world.copy[offset] = value;
    return false;
}

static uint8_t load(uint32_t offset)
{
    uint32_t page = offset / PAGE_BYTES;
    if (world.access[page] == MAPPING_NONE && !is_mirror())
        HOLDS(mapping_load(&world.space, page), "a page could not be loaded");
    return world.copy[offset];
}

/* ---------------------------------------------------------------- steps */

static void store_0(void)
{
    (void)store(OWN_0, ++world.own[0]);
}

static void store_1(void)
{
    uint8_t value = ++world.own[1];
    if (store(OWN_1, value))
        world.before[value] = world.own[0];
}

/* Lost only if the page had its twin already: the promise is for a store that opens the epoch, or
 * is trapped. In a mirror it is for one of another value than is there. */
static void ring(void)
{
    bool promised =
        is_mirror() ? world.copy[BELL] != 1 || world.rung : world.access[1] != MAPPING_RW;
    (void)store(BELL, 1);
    world.rung = promised;
}

static void clear_bell(void)
{
    if (world.remote[BELL] == 1) {
        world.remote[BELL] = 0;
        world.rung = false;
    }
}

static void write_amid(void)
{
    world.amid = 1;
}

static void write_amid_all(void)
{
    world.amid = 4;
}

/* The order of loads is promised but for pages with twins, and for the first load of a page beside
 * others that have been loaded. */
static bool is_ordered(void)
{
    return !is_mirror() && world.page[0].state != MAPPING_RW &&
           (world.flag_loaded || (!world.page[0].known && !world.data_loaded));
}

static void load_0(void)
{
    bool ordered = is_ordered();
    uint8_t seen = load(PEER_0);
    world.flag_loaded = true;
    if (!ordered)
        world.excused = seen;
    else if (seen > world.excused)
        world.data_due = seen;
    HOLDS(load(OWN_0) == world.own[0], "an own store disappeared");
    HOLDS(seen >= world.peer_seen, "a load went backwards");
    world.peer_seen = seen;
}

static void load_1(void)
{
    HOLDS(load(OWN_1) == world.own[1], "an own store disappeared");
}

static void load_2(void)
{
    HOLDS(load(DATA_2) >= world.data_due, "a load is older than one before it");
    world.data_loaded = true;
}

static void refresh(uint32_t page)
{
    if (is_mirror())
        (void)mapping_mirror_refresh(&world.space, page, page + 1, 1);
    else
        mapping_refresh(&world.space, page);
}

static void look_after(void)
{
    mapping_service(&world.space);
    for (uint32_t page = 0; page != MAPPING_NO_PAGE;)
        page = mapping_service_next(&world.space, page);
}

static void refresh_0(void)
{
    refresh(0);
}

static void refresh_1(void)
{
    refresh(1);
}

static void flush(void)
{
    mapping_flush(&world.space);
    HOLDS(world.access[0] != MAPPING_RW && world.access[1] != MAPPING_RW,
          "a page can be stored to after a flush");
}

static void order(void)
{
    (void)mapping_barrier_order(&world.space);
}

static void complete(void)
{
    HOLDS(mapping_barrier_complete(&world.space) == RSM_ST_OK, "a barrier failed");
    HOLDS(world.remote[OWN_0] == world.own[0] && world.remote[OWN_1] == world.own[1],
          "a store has not arrived");
    HOLDS(!world.rung || world.remote[BELL] == 1, "the bell was not heard");
}

static void acquire(void)
{
    uint8_t written = world.peer;
    mapping_acquire(&world.space);
    for (uint32_t page = 0; page < PAGES;)
        page = mapping_reread(&world.space, page, PAGES);
    uint8_t seen = load(PEER_0);
    HOLDS(seen >= written, "a load is older than the barrier");
    world.peer_seen = seen;
    world.data_due = written;
}

static const struct {
    const char *name;
    void (*act)(void);
} step[] = {
    {"store to page 0", store_0},
    {"store to page 1", store_1},
    {"ring", ring},
    {"peer clears bell", clear_bell},
    {"peer writes", peer_writes},
    {"peer writes amid the next read", write_amid},
    {"peer writes amid the next four reads", write_amid_all},
    {"load page 0", load_0},
    {"load page 1", load_1},
    {"load page 2", load_2},
    {"refresh page 0", refresh_0},
    {"refresh page 1", refresh_1},
    {"look after all pages", look_after},
    {"flush", flush},
    {"order", order},
    {"complete", complete},
    {"acquire", acquire},
    {"deliver", deliver_newest},
};
enum { STEPS = sizeof step / sizeof step[0] };

static void check_states(void)
{
    uint32_t clean = 0, dirty = 0;
    for (unsigned page = 0; page < PAGES; page++) {
        HOLDS(world.access[page] == world.page[page].state, "access differs from the state");
        HOLDS(world.space.cache.limit == 0 || world.page[page].held ||
                  (world.access[page] == MAPPING_NONE && !world.page[page].known),
              "a page has memory that is not counted");
        clean += world.page[page].state == MAPPING_RO;
        dirty += world.page[page].state == MAPPING_RW;
    }
    HOLDS(clean == atomic_load(&world.space.clean_count), "clean pages are miscounted");
    HOLDS(dirty == atomic_load(&world.space.dirty_count), "dirty pages are miscounted");
    HOLDS(world.space.cache.count <= world.space.cache.limit, "too many pages have memory");
    HOLDS(is_mirror() || mapping_shows_nothing(&world.space) == (clean + dirty == 0),
          "a barrier is passed, or waits for nothing");
}

static void take(unsigned which)
{
    trail[steps++] = step[which].name;
    world.time += 10;
    step[which].act();
    check_remote();
    check_states();
    visited++;
}

/* @p cached: so many pages have memory at a time; 0: all. */
static void begin(enum mapping_mode mode, uint32_t cached)
{
    memset(&world, 0, sizeof world);
    struct mapping_space *space = &world.space;
    space->inner = &fabric;
    space->size = SEGMENT;
    space->page_size = PAGE_BYTES;
    space->page_count = PAGES;
    space->rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE;
    space->options = mapping_options_default();
    space->options.mode = mode;
    space->options.threshold = 2;
    space->copy = world.copy;
    space->twins = world.twins;
    space->buffer = world.buffer;
    space->scratch = world.buffer + MAPPING_BUFFER_PAGES * PAGE_BYTES;
    space->page = world.page;
    space->clean = &world.clean;
    space->clean_words = &world.clean_words;
    space->protect = protect;
    space->now = now;
    space->woken = woken;
    space->release_pages = release_pages;
    space->release_entries = release_entries;
    space->cache = (struct mapping_cache){
        .limit = cached, .ring = world.ring, .holders = &world.holders, .digest = world.digest};
    space->dirty_first = space->dirty_last = space->streak = MAPPING_NO_PAGE;
    space->latest = MAPPING_NO_PAGE;
    for (unsigned i = 0; i < MAPPING_STRETCHES; i++)
        space->stretches[i].bytes = &world.stretched[i];
    for (uint32_t page = 0; page < PAGES; page++) { /* streams that are well under way */
        bool down = page == PAGES - 1;
        space->streams[page] = (struct mapping_stream){
            .first = page + down, .next = page + down, .window = PAGES, .steps = 2, .down = down};
    }
    steps = 0;
    if (mode != MAPPING_MIRROR)
        return;
    world.mirror =
        (struct mapping_mirror){.shown = &world.shown, .stored = &world.stored, .look = look};
    space->mirror = &world.mirror;
    for (uint32_t page = 0; page < PAGES;)
        page = mapping_mirror_show(space, page, PAGES);
}

static void explore(unsigned depth)
{
    struct world here = world;
    unsigned length = steps;
    for (unsigned which = 0; which < STEPS; which++) {
        take(which);
        if (depth > 1) {
            explore(depth - 1);
        } else { /* however it came to this, a barrier makes it right */
            trail[steps - 1] = step[which].name;
            complete();
        }
        world = here;
        steps = length;
    }
}

static void walk(enum mapping_mode mode, uint32_t cached)
{
    unsigned dice = 1;
    for (unsigned i = 0; i < WALKS; i++) {
        begin(mode, cached);
        while (steps < WALK_STEPS) {
            dice = dice * 1103515245u + 12345u;
            take(dice / 65536 % STEPS);
        }
        complete();
    }
}

/* The same, over a fabric that has reads of one moment. */
static void explore_snapshots(unsigned depth)
{
    fabric_ops.get_snapshot = fabric_get_snapshot;
    begin(MAPPING_AUTO, 0);
    explore(depth);
    walk(MAPPING_AUTO, 0);
    walk(MAPPING_AUTO, 1);
    walk(MAPPING_TWIN, 0);
    fabric_ops.get_snapshot = NULL;
}

/* ---------------------------------------------------------------- copies */

/* Whether a store, to which the page is closed at present, makes it RW at once. */
static bool opens(uint32_t page, uint32_t at)
{
    HOLDS(world.access[page] != MAPPING_RW, "a page can be stored to that should be closed");
    (void)store(page * PAGE_BYTES + at, 1);
    return world.access[page] == MAPPING_RW;
}

/* A copy is not trapped anew in each page, in either direction, nor behind a flush that comes amid
 * it; other stores are. */
static void check_copies(void)
{
    for (uint32_t page = 0; page < 2; page++) {
        begin(MAPPING_AUTO, 0);
        HOLDS(!opens(page, 10) && opens(page, 11) && opens(1 - page, 20),
              "a copy does not go on in the next page");
        mapping_flush(&world.space);
        world.space.streak = MAPPING_NO_PAGE;
        HOLDS(opens(page, 12), "a copy does not go on behind a flush");
        mapping_flush(&world.space);
        world.space.streak = MAPPING_NO_PAGE;
        HOLDS(!opens(page, 12), "a store to where a copy was is not trapped");
        (void)mapping_barrier_order(&world.space);
        HOLDS(!opens(page, 13), "a store behind a barrier is not trapped");
    }
}

int main(int argc, char **argv)
{
    static const enum mapping_mode modes[] = {MAPPING_AUTO, MAPPING_PRECISE, MAPPING_TWIN,
                                              MAPPING_MIRROR};
    unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : DEPTH;
    if (depth < 1 || depth > DEPTH)
        return 2;
    for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        begin(modes[i], 0);
        explore(depth);
        walk(modes[i], 0);
    }
    for (uint32_t cached = 1; cached < PAGES; cached++) { /* what precise has, auto has, too */
        begin(MAPPING_AUTO, cached);
        explore(depth > SHORTER ? depth - 1 : depth);
        walk(MAPPING_AUTO, cached);
        walk(MAPPING_TWIN, cached);
    }
    explore_snapshots(depth > SHORTER ? depth - 1 : depth);
    check_copies(); /* last: defects are to be found by what they break */
    printf("%lu steps, no promise broken\n", visited);
    return 0;
}
