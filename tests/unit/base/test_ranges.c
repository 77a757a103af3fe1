/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"

#include "base/ranges.h"

enum { MANY = 10000, SOME = 300, SPACE = 1000, ROUNDS = 3000 };

/* Height of a subtree, whose every node has been checked. */
static unsigned check_subtree(const struct rsm_range *range)
{
    if (range == NULL)
        return 0;
    const struct rsm_range *children[] = {RB_LEFT(range, links), RB_RIGHT(range, links)};
    uintptr_t last_end = range->end;
    unsigned height = 0;
    for (unsigned i = 0; i < 2; i++) {
        unsigned below = check_subtree(children[i]);
        height = below > height ? below : height;
        if (children[i] != NULL && children[i]->last_end > last_end)
            last_end = children[i]->last_end;
    }
    assert_int_equal(range->last_end, last_end);
    return height + 1;
}

/* The way to each of ten thousand is no longer than twice that of a perfect tree, in whatever order
 * they come: this is what keeps the cost of a call from growing. */
TEST_ALONE(no_way_is_long)
{
    struct rsm_ranges ranges = RSM_RANGES_EMPTY;
    struct rsm_range *range = calloc(MANY, sizeof *range);
    for (unsigned i = 0; i < MANY; i++) {
        range[i].start = 10 * (i + 1);
        range[i].end = range[i].start + 10;
        rsm_ranges_add(&ranges, &range[i]);
    }
    assert_true(check_subtree(RB_ROOT(&ranges)) <= 2 * 14);
    for (unsigned i = 0; i < MANY; i++) {
        assert_ptr_equal(rsm_ranges_first(&ranges, range[i].start, range[i].end), &range[i]);
        assert_null(rsm_ranges_next(&range[i], range[i].start, range[i].end));
    }
    for (unsigned i = 0; i < MANY; i += 2)
        rsm_ranges_remove(&ranges, &range[i]);
    assert_true(check_subtree(RB_ROOT(&ranges)) <= 2 * 13);
    for (unsigned i = 0; i < MANY; i++)
        assert_ptr_equal(rsm_ranges_first(&ranges, range[i].start, range[i].end),
                         i % 2 != 0 ? &range[i] : NULL);
    for (unsigned i = 1; i < MANY; i += 2)
        rsm_ranges_remove(&ranges, &range[i]);
    assert_null(RB_ROOT(&ranges));
    free(range);
}

static int by_start(const void *a, const void *b)
{
    const struct rsm_range *const *one = a, *const *other = b;
    if ((*one)->start != (*other)->start)
        return (*one)->start < (*other)->start ? -1 : 1;
    return *one < *other ? -1 : *one > *other;
}

/* What a walk finds, beside what looking at each range finds. */
static void check_walk(const struct rsm_ranges *ranges, struct rsm_range *all, const bool *in,
                       uintptr_t start, uintptr_t end)
{
    struct rsm_range *expected[SOME];
    unsigned count = 0, found = 0;
    for (unsigned i = 0; i < SOME; i++)
        if (in[i] && all[i].start < end && start < all[i].end)
            expected[count++] = &all[i];
    qsort(expected, count, sizeof expected[0], by_start);
    for (struct rsm_range *r = rsm_ranges_first(ranges, start, end); r != NULL;
         r = rsm_ranges_next(r, start, end)) {
        assert_true(found < count);
        assert_ptr_equal(r, expected[found]);
        found++;
    }
    assert_int_equal(found, count);
}

/* Ranges of all lengths that come and go, one over the other. */
TEST_ALONE(walks_find_what_overlaps)
{
    static struct rsm_range all[SOME];
    static bool in[SOME];
    struct rsm_ranges ranges = RSM_RANGES_EMPTY;
    unsigned seed = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned i = (unsigned)rand_r(&seed) % SOME;
        if (in[i]) {
            rsm_ranges_remove(&ranges, &all[i]);
        } else {
            unsigned most = rand_r(&seed) % 8 == 0 ? SPACE : 20;
            all[i].start = 1 + (unsigned)rand_r(&seed) % SPACE;
            all[i].end = all[i].start + 1 + (unsigned)rand_r(&seed) % most;
            rsm_ranges_add(&ranges, &all[i]);
        }
        in[i] = !in[i];
        (void)check_subtree(RB_ROOT(&ranges));
        uintptr_t start = (unsigned)rand_r(&seed) % (2 * SPACE);
        check_walk(&ranges, all, in, start, start + 1 + (unsigned)rand_r(&seed) % 50);
        check_walk(&ranges, all, in, start, UINTPTR_MAX);
    }
}
