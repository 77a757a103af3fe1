/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Every sequence of a few steps, and long random ones, over the real code of page states: loads,
 * stores, flushes, refreshes and barriers of an importer, and what its peer and the fabric do
 * meanwhile. What the engine does in one hold of its lock is one step.
 */
#include <stdio.h>
#include <stdlib.h>

#include "explore_world.h"

enum { DEPTH = 6, SHORTER = 4, WALKS = 20000, WALK_STEPS = TRAIL };

static unsigned long visited;

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
        world_begin(mode, cached);
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
    world_has_snapshots(true);
    world_begin(MAPPING_AUTO, 0);
    explore(depth);
    walk(MAPPING_AUTO, 0);
    walk(MAPPING_AUTO, 1);
    walk(MAPPING_TWIN, 0);
    world_has_snapshots(false);
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
        world_begin(MAPPING_AUTO, 0);
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
        world_begin(modes[i], 0);
        explore(depth);
        walk(modes[i], 0);
    }
    for (uint32_t cached = 1; cached < PAGES; cached++) { /* what precise has, auto has, too */
        world_begin(MAPPING_AUTO, cached);
        explore(depth > SHORTER ? depth - 1 : depth);
        walk(MAPPING_AUTO, cached);
        walk(MAPPING_TWIN, cached);
    }
    explore_snapshots(depth > SHORTER ? depth - 1 : depth);
    check_copies(); /* last: defects are to be found by what they break */
    printf("%lu steps, no promise broken\n", visited);
    return 0;
}
