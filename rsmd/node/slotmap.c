/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/slotmap.h"

#include <stdlib.h>

enum { BITS = 64 };

struct rsmd_slotmap *rsmd_slotmap_make(void)
{
    return calloc(1, sizeof(struct rsmd_slotmap));
}

void rsmd_slotmap_set(struct rsmd_slotmap *map, uint32_t slot, void *holder)
{
    uint64_t bit = UINT64_C(1) << slot % BITS;
    map->holder[slot] = holder;
    if (holder != NULL)
        map->used[slot / BITS] |= bit;
    else
        map->used[slot / BITS] &= ~bit;
}

uint32_t rsmd_slotmap_after(const struct rsmd_slotmap *map, uint32_t slot)
{
    if (slot >= RSM_GENERATION_TABLE_SLOTS - 1)
        return 0;
    uint32_t word = (slot + 1) / BITS;
    uint64_t bits = map->used[word] & UINT64_MAX << (slot + 1) % BITS;
    while (bits == 0 && ++word < RSM_GENERATION_TABLE_SLOTS / BITS)
        bits = map->used[word];
    return bits != 0 ? word * BITS + (uint32_t)__builtin_ctzll(bits) : 0;
}

uint32_t rsmd_slotmap_free(const struct rsmd_slotmap *map)
{
    uint64_t taken = map->used[0] | 1; /* slot 0 is none */
    uint32_t word = 0;
    while (taken == UINT64_MAX && ++word < RSM_GENERATION_TABLE_SLOTS / BITS)
        taken = map->used[word];
    return taken != UINT64_MAX ? word * BITS + (uint32_t)__builtin_ctzll(~taken) : 0;
}
