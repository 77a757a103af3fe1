/* SPDX-License-Identifier: BSD-3-Clause */
/* When the pages that may be stored to are flushed. The litmus tests and mapping/explore.c have
 * what a flush sends. */
#include "memory_space.h"

enum { FEW = 3, LONGER_US = 60 /* than an interval */ };

static void store(uint32_t page, size_t at, uint8_t value)
{
    assert_int_equal(pages[page].state, MAPPING_RW);
    copy[page * PAGE_BYTES + at] = value;
}

static void an_interval_passes(void)
{
    assert_true(space.options.flush_us < LONGER_US);
    time_us += LONGER_US;
    mapping_service(&space);
}

SPACE_TEST(what_was_changed_is_sent_after_an_interval)
{
    assert_true(mapping_promote(&space, 1));
    store(1, 7, 70);
    mapping_service(&space);
    assert_int_equal(pages[1].state, MAPPING_RW);
    an_interval_passes();
    assert_int_equal(pages[1].state, MAPPING_NONE);
    assert_int_equal(remote[PAGE_BYTES + 7], 70);
    assert_int_equal(mapping_service_due(&space), 0);
}

/* The thread that it was made RW for has not woken up yet. */
SPACE_TEST(a_page_that_is_not_changed_is_left_for_a_while)
{
    assert_true(mapping_promote(&space, 1));
    an_interval_passes();
    an_interval_passes();
    assert_int_equal(pages[1].state, MAPPING_RW);
    assert_in_range(mapping_service_due(&space), 1, space.options.flush_us);
    store(1, PAGE_BYTES - 1, 3);
    an_interval_passes();
    assert_int_equal(pages[1].state, MAPPING_NONE);
    assert_int_equal(remote[2 * PAGE_BYTES - 1], 3);
    /* ... and not for ever: its twin grows old */
    assert_true(mapping_promote(&space, 1));
    for (unsigned i = 0; i < 5; i++)
        an_interval_passes();
    assert_int_equal(pages[1].state, MAPPING_NONE);
    assert_int_equal(space.counters.flushes, 2);
}

/* Of several, whichever it is, and wherever in the list. */
SPACE_TEST(others_do_not_wait_for_it)
{
    for (uint32_t unchanged = 0; unchanged < FEW; unchanged++) {
        for (uint32_t page = 0; page < FEW; page++)
            assert_true(mapping_promote(&space, page));
        for (uint32_t page = 0; page < FEW; page++)
            if (page != unchanged)
                store(page, unchanged, 1);
        an_interval_passes();
        for (uint32_t page = 0; page < FEW; page++) {
            assert_int_equal(pages[page].state, page == unchanged ? MAPPING_RW : MAPPING_NONE);
            assert_int_equal(remote[page * PAGE_BYTES + unchanged], page != unchanged);
        }
        assert_int_equal(space.dirty_count, 1);
        store(unchanged, unchanged, 1);
        mapping_flush(&space); /* a barrier leaves nothing */
        assert_int_equal(pages[unchanged].state, MAPPING_NONE);
        assert_int_equal(remote[unchanged * PAGE_BYTES + unchanged], 1);
        assert_int_equal(space.dirty_first, MAPPING_NO_PAGE);
    }
}

SPACE_TEST(a_barrier_closes_what_was_not_changed)
{
    assert_true(mapping_promote(&space, 0));
    an_interval_passes();
    assert_int_equal(pages[0].state, MAPPING_RW);
    assert_int_equal(mapping_barrier_complete(&space), RSM_ST_OK);
    assert_int_equal(pages[0].state, MAPPING_NONE);
}

/* The peer goes with the flush that comes before a long store. */
SPACE_TEST(room_is_as_long_as_was_asked_for)
{
    const size_t length = (FEW - 1) * PAGE_BYTES;
    assert_true(mapping_promote(&space, 0));
    store(0, 0, 1);
    answer = RSM_ST_ABORTED;
    uint8_t *room = mapping_store_room(&space, length);
    assert_true(space.dead);
    assert_true(room >= space.buffer && length <= (size_t)(space.scratch - room));
}
