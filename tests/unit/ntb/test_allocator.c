/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranges of a pool: no two overlap, whatever is taken and given back. */
#include <stdlib.h>
#include <utlist.h>

#include "cmocka_all.h"
#include "transport/ntb/node/allocator.h"

#define FIRST UINT64_C(0x40000)
#define END   UINT64_C(0x2000000)
#define PAGE  UINT64_C(4096)

static struct ntb_allocator pool;

static int begin(void **state)
{
    (void)state;
    assert_true(ntb_allocator_begin(&pool, FIRST, END, PAGE, 64));
    return 0;
}

static int end(void **state)
{
    (void)state;
    ntb_allocator_end(&pool);
    return 0;
}

static void ranges_are_apart(void)
{
    const struct ntb_range *range;
    uint64_t from = FIRST, sum = 0, slots = 0;
    DL_FOREACH(pool.ranges, range)
    {
        assert_true(range->offset >= from);
        assert_int_equal(range->offset % PAGE, 0);
        assert_true(range->length < NTB_LARGE || range->offset % NTB_LARGE == 0);
        assert_int_equal(slots >> range->slot & 1, 0);
        slots |= UINT64_C(1) << range->slot;
        from = range->offset + range->length;
        sum += range->length;
    }
    assert_true(from <= END);
    assert_int_equal(sum, pool.used);
}

static void random_use(void **state)
{
    struct ntb_range *held[32] = {NULL};
    (void)state;
    srand(11);
    for (unsigned i = 0; i < 20000; i++) {
        unsigned which = (unsigned)rand() % 32;
        if (held[which] != NULL) {
            ntb_free_range(&pool, held[which]);
            held[which] = NULL;
        } else {
            uint64_t pages =
                rand() % 8 == 0 ? 512 + (uint64_t)rand() % 600 : 1 + (uint64_t)rand() % 40;
            uint64_t most = ntb_largest(&pool);
            held[which] = ntb_allocate(&pool, pages * PAGE);
            assert_int_equal(held[which] != NULL, pages * PAGE <= most);
        }
        ranges_are_apart();
    }
}

static void nothing_impossible(void **state)
{
    (void)state;
    assert_null(ntb_allocate(&pool, 0));
    assert_null(ntb_allocate(&pool, PAGE + 1));
    assert_null(ntb_allocate(&pool, END));
    assert_null(ntb_allocate(&pool, UINT64_MAX - PAGE + 1));
    assert_null(ntb_reserve(&pool, FIRST - PAGE, PAGE, 0));
    assert_null(ntb_reserve(&pool, END, PAGE, 0));
    assert_null(ntb_reserve(&pool, FIRST, END, 0));
    assert_null(ntb_reserve(&pool, UINT64_MAX - PAGE + 1, PAGE, 0));
    assert_null(ntb_reserve(&pool, FIRST, PAGE, 64));
    assert_null(pool.ranges);
}

static void what_was_there_before_stays_taken(void **state)
{
    (void)state;
    struct ntb_range *before = ntb_reserve(&pool, FIRST + PAGE, 2 * PAGE, 7);
    assert_non_null(before);
    assert_null(ntb_reserve(&pool, FIRST + 2 * PAGE, PAGE, 8));
    assert_null(ntb_reserve(&pool, FIRST, 2 * PAGE, 8));
    assert_null(ntb_reserve(&pool, FIRST + 4 * PAGE, PAGE, 7)); /* its slot */
    struct ntb_range *small = ntb_allocate(&pool, PAGE), *next = ntb_allocate(&pool, 2 * PAGE);
    assert_int_equal(small->offset, FIRST);
    assert_int_equal(next->offset, FIRST + 3 * PAGE);
    ntb_free_range(&pool, before);
    assert_int_equal(ntb_allocate(&pool, 2 * PAGE)->offset, FIRST + PAGE);
    ranges_are_apart();
}

static void slots_end(void **state)
{
    struct ntb_range *last = NULL;
    (void)state;
    for (unsigned i = 0; i < 64; i++)
        assert_non_null(last = ntb_allocate(&pool, PAGE));
    assert_null(ntb_allocate(&pool, PAGE));
    uint32_t slot = last->slot;
    ntb_free_range(&pool, last);
    assert_int_equal(ntb_allocate(&pool, PAGE)->slot, slot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_use, begin, end),
        cmocka_unit_test_setup_teardown(nothing_impossible, begin, end),
        cmocka_unit_test_setup_teardown(what_was_there_before_stays_taken, begin, end),
        cmocka_unit_test_setup_teardown(slots_end, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
