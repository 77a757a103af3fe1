/* SPDX-License-Identifier: BSD-3-Clause */
/* The usual interval tree: balanced by start, and each node has the last end of its subtree. */
#include "base/ranges.h"

#include <stddef.h>

static uintptr_t last_end_of(const struct rsm_range *range)
{
    return range != NULL ? range->last_end : 0;
}

/* Children of this range have changed. */
static void update_up_to_root(struct rsm_range *range)
{
    for (; range != NULL; range = RB_PARENT(range, links)) {
        uintptr_t left = last_end_of(RB_LEFT(range, links));
        uintptr_t right = last_end_of(RB_RIGHT(range, links));
        uintptr_t max = left > right ? left : right;
        range->last_end = range->end > max ? range->end : max;
    }
}

static int compare(const struct rsm_range *a, const struct rsm_range *b)
{
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (uintptr_t)a < (uintptr_t)b ? -1 : (uintptr_t)a > (uintptr_t)b;
}

/* What tree.h calls whenever it has given a node other children. */
#undef RB_AUGMENT
#define RB_AUGMENT(range) update_up_to_root(range)
#define MAYBE_UNUSED      __attribute__((unused)) static /* tree.h's own is not known to gcc */
RB_PROTOTYPE_INTERNAL(rsm_ranges, rsm_range, links, compare, MAYBE_UNUSED)
RB_GENERATE_INTERNAL(rsm_ranges, rsm_range, links, compare, MAYBE_UNUSED)

void rsm_ranges_add(struct rsm_ranges *ranges, struct rsm_range *range)
{
    range->last_end = range->end;
    (void)rsm_ranges_RB_INSERT(ranges, range);
}

void rsm_ranges_remove(struct rsm_ranges *ranges, struct rsm_range *range)
{
    (void)rsm_ranges_RB_REMOVE(ranges, range);
}

/* The first of a subtree that reaches beyond `start`: whichever is further left ends before. */
static struct rsm_range *first_of(struct rsm_range *range, uintptr_t start, uintptr_t end)
{
    while (last_end_of(range) > start) {
        if (last_end_of(RB_LEFT(range, links)) > start) {
            range = RB_LEFT(range, links);
            continue;
        }
        if (range->start >= end)
            return NULL;
        if (range->end > start)
            return range;
        range = RB_RIGHT(range, links);
    }
    return NULL;
}

struct rsm_range *rsm_ranges_first(const struct rsm_ranges *ranges, uintptr_t start, uintptr_t end)
{
    return first_of(RB_ROOT(ranges), start, end);
}

struct rsm_range *rsm_ranges_next(struct rsm_range *range, uintptr_t start, uintptr_t end)
{
    for (;;) {
        if (last_end_of(RB_RIGHT(range, links)) > start)
            return first_of(RB_RIGHT(range, links), start, end);
        const struct rsm_range *child;
        do { /* up to the first whose left subtree has been looked at */
            child = range;
            range = RB_PARENT(range, links);
            if (range == NULL)
                return NULL;
        } while (child == RB_RIGHT(range, links));
        if (range->start >= end)
            return NULL;
        if (range->end > start)
            return range;
    }
}
