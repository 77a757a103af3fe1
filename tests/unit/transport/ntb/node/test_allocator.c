/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranges of a pool: no two overlap, whatever is taken and given back. */
#include "cases.h"
#include "transport/ntb/node/allocator.h"

#define FIRST UINT64_C(0x40000)
#define END   UINT64_C(0x2000000)
#define PAGE  UINT64_C(4096)

static struct ntb_allocator pool;

static int begin(void **state)
{
    ntb_allocator_begin(&pool, FIRST, END, PAGE, 64);
    return 0;
}

static int end(void **state)
{
    ntb_allocator_end(&pool);
    return 0;
}

/* The longest that fits between two offsets, as the documentation has it. */
static uint64_t room(uint64_t from, uint64_t to)
{
    uint64_t large = (from + NTB_LARGE - 1) / NTB_LARGE * NTB_LARGE, small = to - from;
    if (large < to && to - large >= NTB_LARGE)
        return to - large;
    return small < NTB_LARGE ? small : NTB_LARGE - PAGE;
}

static void ranges_are_apart(void)
{
    const struct ntb_range *range;
    uint64_t from = FIRST, sum = 0, most = 0;
    uint32_t count = 0;
    for (range = ntb_range_from(&pool, 0); range != NULL; range = ntb_range_from(&pool, from)) {
        assert_true(range->offset >= from);
        assert_int_equal(range->offset % PAGE, 0);
        assert_true(range->length < NTB_LARGE || range->offset % NTB_LARGE == 0);
        most = room(from, range->offset) > most ? room(from, range->offset) : most;
        from = range->offset + range->length;
        sum += range->length;
        count++;
    }
    assert_true(from <= END);
    most = room(from, END) > most ? room(from, END) : most;
    assert_int_equal(ntb_largest(&pool), most);
    assert_int_equal(sum, pool.used);
    assert_int_equal(count, pool.count);
}

#define TEST(test) TEST_BETWEEN(test, begin, end)

TEST(random_use)
{
    struct ntb_range *held[32] = {NULL};
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

TEST(nothing_impossible)
{
    assert_null(ntb_allocate(&pool, 0));
    assert_null(ntb_allocate(&pool, PAGE + 1));
    assert_null(ntb_allocate(&pool, END));
    assert_null(ntb_allocate(&pool, UINT64_MAX - PAGE + 1));
    assert_null(ntb_reserve(&pool, FIRST - PAGE, PAGE));
    assert_null(ntb_reserve(&pool, END, PAGE));
    assert_null(ntb_reserve(&pool, FIRST, END));
    assert_null(ntb_reserve(&pool, UINT64_MAX - PAGE + 1, PAGE));
    assert_null(ntb_range_from(&pool, 0));
}

TEST(what_was_there_before_stays_taken)
{
    struct ntb_range *before = ntb_reserve(&pool, FIRST + PAGE, 2 * PAGE);
    assert_non_null(before);
    assert_null(ntb_reserve(&pool, FIRST + 2 * PAGE, PAGE));
    assert_null(ntb_reserve(&pool, FIRST, 2 * PAGE));
    struct ntb_range *small = ntb_allocate(&pool, PAGE), *next = ntb_allocate(&pool, 2 * PAGE);
    assert_int_equal(small->offset, FIRST);
    assert_int_equal(next->offset, FIRST + 3 * PAGE);
    ntb_free_range(&pool, before);
    assert_int_equal(ntb_allocate(&pool, 2 * PAGE)->offset, FIRST + PAGE);
    ranges_are_apart();
}

/* However they are taken, and also of what lies beside the pool. */
TEST(there_is_a_limit)
{
    struct ntb_allocator beside;
    struct ntb_range *last = NULL;
    ntb_allocator_begin_beside(&beside, END, 2 * END, &pool);
    assert_non_null(ntb_allocate(&beside, PAGE));
    for (unsigned i = 0; i < 63; i++)
        assert_non_null(last = ntb_allocate(&pool, PAGE));
    assert_null(ntb_allocate(&pool, PAGE));
    assert_null(ntb_allocate(&beside, PAGE));
    assert_null(ntb_reserve(&pool, END - PAGE, PAGE));
    ntb_free_range(&pool, last);
    assert_non_null(ntb_allocate(&beside, PAGE));
    assert_null(ntb_allocate(&pool, PAGE));
    ntb_allocator_end(&beside);
    assert_int_equal(pool.count, 62);
}

/* The lowest place, also among many. */
TEST(lowest_place)
{
    struct ntb_range *held[60];
    for (unsigned i = 0; i < 60; i++)
        held[i] = ntb_allocate(&pool, (1 + i % 3) * PAGE);
    uint64_t lower = held[7]->offset, upper = held[31]->offset; /* of two pages each */
    ntb_free_range(&pool, held[31]);
    ntb_free_range(&pool, held[7]);
    assert_int_equal(ntb_allocate(&pool, 2 * PAGE)->offset, lower);
    assert_int_equal(ntb_allocate(&pool, PAGE)->offset, upper);
    ranges_are_apart();
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The best time of a pair of calls in a pool with so many ranges of a page, apart from each
 * other so that nothing of two pages fits between them. */
static double best_time(uint32_t count)
{
    enum { TURNS = 20, PAIRS = 200 };
    struct ntb_allocator many;
    double best = 1e9;
    ntb_allocator_begin(&many, 0, 4 * count * PAGE, PAGE, 2 * count);
    for (uint32_t i = 0; i < count; i++)
        assert_non_null(ntb_reserve(&many, 2 * i * PAGE, PAGE));
    for (unsigned turn = 0; turn < TURNS; turn++) {
        double from = seconds();
        for (unsigned i = 0; i < PAIRS; i++)
            ntb_free_range(&many, ntb_allocate(&many, 2 * PAGE));
        double taken = seconds() - from;
        best = taken < best ? taken : best;
    }
    ntb_allocator_end(&many);
    return best;
}

/* A hundred times as many ranges, looked through, take a hundred times as long. */
TEST_ALONE(cost_does_not_grow_with_ranges)
{
    double few = best_time(80), many = best_time(8000);
    print_message("80 ranges: %.2f us; 8000: %.2f us\n", few / 200 * 1e6, many / 200 * 1e6);
    assert_true(many < 20 * few);
}
