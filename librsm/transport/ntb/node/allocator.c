/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/ntb/node/allocator.h"

#include <stdlib.h>
#include <utlist.h>

enum { WORD = 64 };

bool ntb_allocator_begin(struct ntb_allocator *allocator, uint64_t first, uint64_t end,
                         uint64_t granule, uint32_t slots)
{
    *allocator = (struct ntb_allocator){.first = (first + granule - 1) / granule * granule,
                                        .end = end / granule * granule,
                                        .granule = granule,
                                        .slots = slots};
    allocator->taken = calloc((slots + WORD - 1) / WORD, sizeof *allocator->taken);
    return allocator->taken != NULL;
}

void ntb_allocator_end(struct ntb_allocator *allocator)
{
    while (allocator->ranges != NULL)
        ntb_free_range(allocator, allocator->ranges);
    free(allocator->taken);
    allocator->taken = NULL;
}

/* ------------------------------------------------------------------ slots */

static bool slot_is_taken(const struct ntb_allocator *allocator, uint32_t slot)
{
    return (allocator->taken[slot / WORD] >> slot % WORD & 1) != 0;
}

/* The slots take turns, so that a late signal for one that was freed meets nobody. */
static bool find_slot(struct ntb_allocator *allocator, uint32_t *slot)
{
    for (uint32_t i = 0; i < allocator->slots; i++) {
        uint32_t candidate = (allocator->next_slot + i) % allocator->slots;
        if (slot_is_taken(allocator, candidate))
            continue;
        *slot = candidate;
        allocator->next_slot = (candidate + 1) % allocator->slots;
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------ ranges */

static struct ntb_range *insert(struct ntb_allocator *allocator, struct ntb_range *before,
                                uint64_t offset, uint64_t length, uint32_t slot)
{
    struct ntb_range *range = calloc(1, sizeof *range);
    if (range == NULL)
        return NULL;
    *range = (struct ntb_range){.offset = offset, .length = length, .slot = slot};
    if (before != NULL)
        DL_PREPEND_ELEM(allocator->ranges, before, range);
    else
        DL_APPEND(allocator->ranges, range);
    allocator->taken[slot / WORD] |= UINT64_C(1) << slot % WORD;
    allocator->used += length;
    return range;
}

static uint64_t align_up(uint64_t offset, uint64_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

static uint64_t alignment_of(const struct ntb_allocator *allocator, uint64_t length)
{
    return length >= NTB_LARGE && allocator->granule < NTB_LARGE ? NTB_LARGE : allocator->granule;
}

struct ntb_range *ntb_allocate(struct ntb_allocator *allocator, uint64_t length)
{
    uint64_t alignment = alignment_of(allocator, length), from = allocator->first;
    struct ntb_range *range;
    uint32_t slot;
    if (length == 0 || length % allocator->granule != 0 || length > allocator->end ||
        !find_slot(allocator, &slot))
        return NULL;
    DL_FOREACH(allocator->ranges, range)
    {
        uint64_t start = align_up(from, alignment);
        if (start < range->offset && length <= range->offset - start)
            return insert(allocator, range, start, length, slot);
        from = range->offset + range->length;
    }
    uint64_t start = align_up(from, alignment);
    if (start > allocator->end || length > allocator->end - start)
        return NULL;
    return insert(allocator, NULL, start, length, slot);
}

struct ntb_range *ntb_reserve(struct ntb_allocator *allocator, uint64_t offset, uint64_t length,
                              uint32_t slot)
{
    struct ntb_range *range;
    if (length == 0 || (offset | length) % allocator->granule != 0 || offset < allocator->first ||
        length > allocator->end || offset > allocator->end - length || slot >= allocator->slots ||
        slot_is_taken(allocator, slot))
        return NULL;
    DL_FOREACH(allocator->ranges, range)
    {
        if (range->offset + range->length <= offset)
            continue;
        if (range->offset < offset + length)
            return NULL;
        break;
    }
    return insert(allocator, range, offset, length, slot);
}

void ntb_free_range(struct ntb_allocator *allocator, struct ntb_range *range)
{
    allocator->taken[range->slot / WORD] &= ~(UINT64_C(1) << range->slot % WORD);
    allocator->used -= range->length;
    DL_DELETE(allocator->ranges, range);
    free(range);
}

/* The longest that fits between two offsets. */
static uint64_t room(const struct ntb_allocator *allocator, uint64_t from, uint64_t to)
{
    uint64_t large = align_up(from, NTB_LARGE);
    if (to <= from)
        return 0;
    if (large < to && to - large >= NTB_LARGE)
        return to - large;
    uint64_t small = to - from;
    return small < NTB_LARGE ? small : NTB_LARGE - allocator->granule;
}

uint64_t ntb_largest(const struct ntb_allocator *allocator)
{
    uint64_t from = allocator->first, most = 0;
    const struct ntb_range *range;
    DL_FOREACH(allocator->ranges, range)
    {
        uint64_t here = room(allocator, from, range->offset);
        most = here > most ? here : most;
        from = range->offset + range->length;
    }
    uint64_t last = room(allocator, from, allocator->end);
    return last > most ? last : most;
}
