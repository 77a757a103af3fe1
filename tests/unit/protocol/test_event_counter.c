/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a poster was, and what a waiter makes of it. */
#include "cases.h"

#include "protocol/event_counter.h"

static cpu_set_t allowed;

/* Keep to one processor, so that it is the same from line to line. */
static int stay(void **state)
{
    cpu_set_t one;
    int processor = sched_getcpu();
    struct rsm_event_counter *cell = rsm_event_counter_map(-1);
    if (cell == NULL || processor < 0 || sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        return -1;
    CPU_ZERO(&one);
    CPU_SET((size_t)processor, &one);
    *state = cell;
    return sched_setaffinity(0, sizeof one, &one);
}

static int move_freely(void **state)
{
    rsm_event_counter_unmap(*state);
    return sched_setaffinity(0, sizeof allowed, &allowed);
}

#define TEST(test) TEST_BETWEEN(test, stay, move_freely)

TEST(a_poster_leaves_its_processor)
{
    struct rsm_event_counter *cell = *state;
    assert_int_equal(cell->processor, 0);
    rsm_event_counter_post(cell, 1, false);
    assert_int_equal(cell->processor, sched_getcpu() + 1);
    cell->processor = 999;
    rsm_event_counter_post(cell, 1, true); /* counts for nothing; the poster is here all the same */
    assert_int_equal(cell->processor, sched_getcpu() + 1);
    assert_int_equal(cell->pending, 1);
}

TEST(who_shares_the_processor_need_not_spin)
{
    struct rsm_event_counter *cell = *state;
    uint32_t own = (uint32_t)sched_getcpu() + 1;
    assert_true(rsm_event_counter_may_spin(cell)); /* nobody has posted yet */
    cell->processor = own;
    assert_false(rsm_event_counter_may_spin(cell));
    cell->processor = own + 1;
    assert_true(rsm_event_counter_may_spin(cell));
    cell->processor = UINT32_MAX; /* by a liar */
    assert_true(rsm_event_counter_may_spin(cell));
}
