/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The holder of each slot of the generation table, so that all exports, or all connections, can be
 * walked a few at a time while others come and go. Interrupts, which have no slot, have a map of
 * places for the same purpose.
 */
#pragma once

#include <stdint.h>

#include "protocol/sharedmem.h"

struct rsmd_slotmap {
    uint64_t used[RSM_GENERATION_TABLE_SLOTS / 64]; /* a bit for each slot */
    void *holder[RSM_GENERATION_TABLE_SLOTS];
};

/** NULL: no memory. Freed by free(). */
struct rsmd_slotmap *rsmd_slotmap_make(void);

/** Set the holder of a slot; NULL: none. */
void rsmd_slotmap_set(struct rsmd_slotmap *map, uint32_t slot, void *holder);

/** The lowest held slot above @p slot; 0: there is none. */
uint32_t rsmd_slotmap_after(const struct rsmd_slotmap *map, uint32_t slot);

/** The lowest free slot from 1 on; 0: there is none. */
uint32_t rsmd_slotmap_free(const struct rsmd_slotmap *map);
