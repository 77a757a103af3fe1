/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree has the ranges in use, by offset, and each knows the room in front of it. The most of
 * a subtree leads to the lowest place where something fits. */
#include "transport/ntb/node/allocator.h"

#include <stdlib.h>

static uint64_t align_up(uint64_t offset, uint64_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

static struct ntb_room larger(struct ntb_room a, struct ntb_room b)
{
    return (struct ntb_room){.any = a.any > b.any ? a.any : b.any,
                             .large = a.large > b.large ? a.large : b.large};
}

static struct ntb_room max_of(const struct ntb_range *range)
{
    return range != NULL ? range->max : (struct ntb_room){0};
}

/* The room in front of this range, or its children, have changed. */
static void update_up_to_root(struct ntb_range *range)
{
    for (; range != NULL; range = RB_PARENT(range, links))
        range->max = larger(range->before,
                            larger(max_of(RB_LEFT(range, links)), max_of(RB_RIGHT(range, links))));
}

/* The last, empty one can have the offset of no other: those end before it. */
static int compare(const struct ntb_range *a, const struct ntb_range *b)
{
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* What tree.h calls whenever it has given a node other children. */
#undef RB_AUGMENT
#define RB_AUGMENT(range) update_up_to_root(range)
#define MAYBE_UNUSED      __attribute__((unused)) static /* tree.h's own is not known to gcc */
RB_PROTOTYPE_INTERNAL(ntb_ranges, ntb_range, links, compare, MAYBE_UNUSED)
RB_GENERATE_INTERNAL(ntb_ranges, ntb_range, links, compare, MAYBE_UNUSED)

static struct ntb_room room_between(uint64_t from, uint64_t to)
{
    uint64_t large = align_up(from, NTB_LARGE);
    return (struct ntb_room){.any = from < to ? to - from : 0,
                             .large = large < to ? to - large : 0};
}

/* Its predecessor is another one, or it is new. */
static void set_room(struct ntb_allocator *allocator, struct ntb_range *range)
{
    const struct ntb_range *previous = ntb_ranges_RB_PREV(range);
    uint64_t from = previous != NULL ? previous->offset + previous->length : allocator->first;
    range->before = room_between(from, range->offset);
    update_up_to_root(range);
}

/* The first at the offset or behind it; there is the empty one at least. */
static struct ntb_range *at_or_behind(const struct ntb_allocator *allocator, uint64_t offset)
{
    struct ntb_range *range = allocator->ranges.rbh_root, *found = NULL;
    while (range != NULL) {
        bool candidate = range->offset >= offset;
        if (candidate)
            found = range;
        range = candidate ? RB_LEFT(range, links) : RB_RIGHT(range, links);
    }
    return found;
}

/* The lowest with so much room in front of it. */
static struct ntb_range *lowest(const struct ntb_allocator *allocator, uint64_t length, bool large)
{
    struct ntb_range *range = allocator->ranges.rbh_root;
    while (range != NULL) {
        struct ntb_room left = max_of(RB_LEFT(range, links));
        if ((large ? left.large : left.any) >= length)
            range = RB_LEFT(range, links);
        else if ((large ? range->before.large : range->before.any) >= length)
            return range;
        else
            range = RB_RIGHT(range, links);
    }
    return NULL;
}

static void begin(struct ntb_allocator *allocator, uint64_t first, uint64_t end, uint64_t granule,
                  struct ntb_allocator *limit_of)
{
    *allocator = (struct ntb_allocator){.first = align_up(first, granule),
                                        .end = end / granule * granule,
                                        .granule = granule,
                                        .limit_of = limit_of};
    allocator->last.offset = allocator->end;
    (void)ntb_ranges_RB_INSERT(&allocator->ranges, &allocator->last);
    set_room(allocator, &allocator->last);
}

void ntb_allocator_begin_beside(struct ntb_allocator *allocator, uint64_t first, uint64_t end,
                                struct ntb_allocator *other)
{
    begin(allocator, first, end, other->granule, other->limit_of);
}

void ntb_allocator_begin(struct ntb_allocator *allocator, uint64_t first, uint64_t end,
                         uint64_t granule, uint32_t max)
{
    begin(allocator, first, end, granule, allocator);
    allocator->max = max;
}

struct ntb_range *ntb_range_from(const struct ntb_allocator *allocator, uint64_t offset)
{
    struct ntb_range *range = at_or_behind(allocator, offset);
    return range != &allocator->last ? range : NULL;
}

void ntb_allocator_end(struct ntb_allocator *allocator)
{
    struct ntb_range *range;
    while ((range = ntb_range_from(allocator, 0)) != NULL)
        ntb_free_range(allocator, range);
}

static struct ntb_range *insert(struct ntb_allocator *allocator, uint64_t offset, uint64_t length)
{
    struct ntb_allocator *limit = allocator->limit_of;
    struct ntb_range *range = limit->count < limit->max ? calloc(1, sizeof *range) : NULL;
    if (range == NULL)
        return NULL;
    *range = (struct ntb_range){.offset = offset, .length = length};
    (void)ntb_ranges_RB_INSERT(&allocator->ranges, range);
    set_room(allocator, range);
    set_room(allocator, ntb_ranges_RB_NEXT(range));
    limit->count++;
    allocator->used += length;
    return range;
}

struct ntb_range *ntb_allocate(struct ntb_allocator *allocator, uint64_t length)
{
    bool large = length >= NTB_LARGE && allocator->granule < NTB_LARGE;
    if (length == 0 || length % allocator->granule != 0)
        return NULL;
    const struct ntb_range *next = lowest(allocator, length, large);
    if (next == NULL)
        return NULL;
    uint64_t room = large ? next->before.large : next->before.any;
    return insert(allocator, next->offset - room, length);
}

struct ntb_range *ntb_reserve(struct ntb_allocator *allocator, uint64_t offset, uint64_t length)
{
    if (length == 0 || (offset | length) % allocator->granule != 0 || offset < allocator->first ||
        length > allocator->end || offset > allocator->end - length)
        return NULL;
    const struct ntb_range *next = at_or_behind(allocator, offset);
    if (offset < next->offset - next->before.any || offset + length > next->offset)
        return NULL;
    return insert(allocator, offset, length);
}

void ntb_free_range(struct ntb_allocator *allocator, struct ntb_range *range)
{
    struct ntb_range *next = ntb_ranges_RB_NEXT(range);
    allocator->limit_of->count--;
    allocator->used -= range->length;
    (void)ntb_ranges_RB_REMOVE(&allocator->ranges, range);
    set_room(allocator, next);
    free(range);
}

uint64_t ntb_largest(const struct ntb_allocator *allocator)
{
    struct ntb_room max = max_of(allocator->ranges.rbh_root);
    if (max.large >= NTB_LARGE)
        return max.large;
    return max.any < NTB_LARGE ? max.any : NTB_LARGE - allocator->granule;
}
