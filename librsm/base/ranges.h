/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A set of ranges of addresses, which may overlap. Each operation takes time logarithmic in
 *  the number of ranges; a walk, in addition, one step for each range found.
 *
 *  Members are embedded in what they describe. Callers exclude one another. */
#pragma once

#include <bsd/sys/tree.h> /* macros alone: libbsd itself is not needed */
#include <stdint.h>

/** A range that is not empty. Its members must not change while it is in a set. */
struct rsm_range {
    RB_ENTRY(rsm_range) links;
    uintptr_t start;
    uintptr_t end;      /**< address behind the last byte */
    uintptr_t last_end; /**< the set's: greatest end of this subtree */
};

/** RSM_RANGES_EMPTY, or all zero, is an empty set. */
struct rsm_ranges {
    struct rsm_range *rbh_root; /* as tree.h names it */
};

#define RSM_RANGES_EMPTY ((struct rsm_ranges){0})

void rsm_ranges_add(struct rsm_ranges *ranges, struct rsm_range *range);
void rsm_ranges_remove(struct rsm_ranges *ranges, struct rsm_range *range);

/** The first range, by start, that has addresses in [@p start, @p end), which is not empty; NULL:
 *  there is none. Of several with one start the order is that of their addresses in memory. */
struct rsm_range *rsm_ranges_first(const struct rsm_ranges *ranges, uintptr_t start, uintptr_t end);
/** The one that follows @p range, which need not be such a one itself. */
struct rsm_range *rsm_ranges_next(struct rsm_range *range, uintptr_t start, uintptr_t end);
