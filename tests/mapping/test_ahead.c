/* SPDX-License-Identifier: BSD-3-Clause */
/* How many pages loads read at once, which they are, and how long they stay. That what they show is
 * of one moment is for mapping/explore.c. */
#include "memory_space.h"

#include <string.h>

enum { AT_ONCE = 128, FAULTS_MAX = 12 };

/* As a program does it. @return whether it faulted. */
static bool load(uint32_t page)
{
    if (pages[page].state != MAPPING_NONE)
        return false;
    assert_true(mapping_load(&space, page));
    assert_int_equal(pages[page].state, MAPPING_RO);
    return true;
}

static void number_pages(uint8_t add)
{
    for (uint32_t page = 0; page < PAGES; page++)
        memset(remote + page * PAGE_BYTES, (uint8_t)(page + add), PAGE_BYTES);
}

/* One pass from page to page. @return faults. */
static unsigned pass(uint32_t from, uint32_t to, uint8_t add)
{
    unsigned faults = 0;
    int step = to > from ? 1 : -1;
    for (uint32_t page = from; page != to + (uint32_t)step; page += (uint32_t)step) {
        faults += load(page);
        assert_int_equal(copy[page * PAGE_BYTES + page], (uint8_t)(page + add));
    }
    return faults;
}

/* Go upward until a load reads as many as ever. @return its page. */
static uint32_t many(void)
{
    uint32_t page = 0;
    while (page < PAGES && (!load(page) || mapping_ahead_end(&space, page) - page < AT_ONCE))
        page++;
    assert_in_range(page, 1, PAGES - 1);
    return page;
}

SPACE_TEST(upward_and_downward_read_many_pages_at_once)
{
    for (uint8_t turn = 0; turn < 4; turn++) {
        number_pages(turn);
        bool up = turn % 2 == 0;
        mapping_acquire(&space);
        unsigned faults = pass(up ? 0 : PAGES - 1, up ? PAGES - 1 : 0, turn);
        assert_in_range(faults, PAGES / AT_ONCE, FAULTS_MAX);
    }
}

/* What does not change is read once, and what does twice. */
SPACE_TEST(no_page_is_read_for_nothing)
{
    number_pages(0);
    (void)pass(PAGES - 1, 0, 0);
    mapping_acquire(&space);
    bytes_read = 0;
    (void)pass(PAGES - 1, 0, 0);
    assert_int_equal(bytes_read, PAGES * PAGE_BYTES);
    number_pages(1);
    mapping_acquire(&space);
    bytes_read = 0;
    (void)pass(PAGES - 1, 0, 1);
    assert_int_equal(bytes_read, 2 * PAGES * PAGE_BYTES);
}

/* memcpy(3) of that kind begins at the other end. */
SPACE_TEST(a_load_elsewhere_does_not_end_it)
{
    number_pages(0);
    (void)load(0);
    assert_in_range(pass(PAGES - 1, 1, 0), 1, FAULTS_MAX);
}

SPACE_TEST(a_turn_begins_with_one_page)
{
    uint32_t page = many();
    mapping_acquire(&space);
    bytes_read = 0;
    assert_true(load(page - 1));
    assert_int_equal(bytes_read, PAGE_BYTES);
}

SPACE_TEST(single_loads_read_single_pages)
{
    uint32_t page = 7;
    for (unsigned i = 0; i < 200; i++) {
        (void)load(page);
        page = (page * 5 + 3) % PAGES; /* each once */
    }
    for (page = 0; page < PAGES; page += 4)
        (void)load(page);
    assert_in_range(bytes_read, 1, (200 + PAGES / 4) * PAGE_BYTES);
}

/* ---------------------------------------------------------------- how long they stay */

static unsigned shown(void)
{
    return space.clean_count;
}

static void serve(void)
{
    for (uint32_t page = 0; page != MAPPING_NO_PAGE;)
        page = mapping_service_next(&space, page);
}

SPACE_TEST(many_pages_stay_longer_and_go_together)
{
    uint32_t refresh = space.options.refresh_us;
    uint32_t page = many();
    mapping_drop_clean(&space, 0, page);
    assert_int_equal(shown(), AT_ONCE);
    time_us += 2 * refresh - 1;
    serve();
    assert_int_equal(shown(), AT_ONCE);
    time_us++;
    serve();
    assert_int_equal(shown(), 0);
    /* ... and one alone is read again in place */
    (void)load(PAGES - 1);
    reads = 0;
    time_us += refresh;
    serve();
    assert_int_equal(reads, 1);
    assert_int_equal(shown(), 1);
}

/* Those that were read first go first. */
SPACE_TEST(the_next_pages_stay_when_the_last_ones_go)
{
    number_pages(0);
    (void)pass(0, PAGES - 1, 0);
    mapping_acquire(&space); /* they are known, and have not changed: none goes for another */
    uint32_t first = many();
    time_us += space.options.refresh_us;
    (void)pass(first, first + AT_ONCE, 0);
    assert_int_equal(pages[first].state, MAPPING_RO);
    time_us += space.options.refresh_us;
    serve();
    assert_int_equal(pages[first].state, MAPPING_NONE);
    assert_int_equal(pages[first + AT_ONCE].state, MAPPING_RO);
}

/* A program that is slower than that gets fewer. */
SPACE_TEST(who_comes_back_gets_fewer)
{
    uint32_t page = many();
    for (unsigned i = 0; i < 6; i++) {
        mapping_drop_clean(&space, 0, PAGES);
        (void)load(++page);
    }
    uint32_t before = shown();
    mapping_drop_clean(&space, 0, PAGES);
    assert_in_range(before, 1, 2);
}

/* Other faults wait for a read, so one that takes long gets fewer pages the next time. */
SPACE_TEST(a_slow_fabric_gets_fewer)
{
    number_pages(0);
    read_us = 30;
    (void)pass(0, PAGES - 1, 0);
    mapping_acquire(&space);
    unsigned before = reads;
    (void)pass(0, PAGES - 1, 0);
    assert_in_range(reads - before, PAGES / (1000 / 30), PAGES / 8);
    read_us = 0; /* the machine was busy */
    mapping_acquire(&space);
    assert_in_range(pass(PAGES - 1, 0, 0), 1, 20);
    mapping_acquire(&space);
    assert_in_range(pass(0, PAGES - 1, 0), 1, FAULTS_MAX);
}

/* No more than there is memory for. */
SPACE_TEST(a_bounded_mapping_keeps_the_page_that_is_wanted)
{
    enum { LIMIT = 10 };
    static uint32_t ring[LIMIT];
    static uint8_t holders[PAGES / 64];
    static uint64_t digest[PAGES];
    number_pages(0);
    space.cache =
        (struct mapping_cache){.limit = LIMIT, .ring = ring, .holders = holders, .digest = digest};
    assert_in_range(pass(PAGES - 1, 0, 0), PAGES / (LIMIT / 2), PAGES);
    assert_in_range(space.cache.count, 1, LIMIT);
}
