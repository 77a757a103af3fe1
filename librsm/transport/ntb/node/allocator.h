/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Which parts of a pool are in use. Knows neither memory nor hardware. Not thread-safe: the
 *  window calls it under its lock. Each operation takes time logarithmic in the number of parts. */
#pragma once

#include <bsd/sys/tree.h> /* macros alone: libbsd itself is not needed */
#include <stdbool.h>
#include <stdint.h>

/** Extents that are at least so long begin at a multiple of it, so that large pages can map
 *  them. */
#define NTB_LARGE UINT64_C(0x200000)

/** What is free in one place, bytes: altogether, and from the first multiple of NTB_LARGE on. */
struct ntb_room {
    uint64_t any, large;
};

/** A part in use. */
struct ntb_range {
    uint64_t offset; /**< bytes into the pool */
    uint64_t length;
    uint32_t owner;            /**< for the caller alone */
    RB_ENTRY(ntb_range) links; /* by offset */
    struct ntb_room before;    /* what is free between its predecessor and it */
    struct ntb_room max;       /* the most of each kind in its subtree */
};

struct ntb_ranges {
    struct ntb_range *rbh_root; /* as tree.h names it */
};

/** Stays where it was made: its tree leads to `last`. */
struct ntb_allocator {
    uint64_t first;                 /**< where the usable part begins, bytes */
    uint64_t end;                   /**< and where it ends */
    uint64_t granule;               /**< offsets and lengths are multiples of it; a power of two */
    uint64_t used;                  /**< bytes in ranges */
    struct ntb_allocator *limit_of; /**< whose limit counts its ranges: its own, or another's */
    uint32_t count, max;            /**< own limit: ranges that count, and may count */
    struct ntb_ranges ranges;
    struct ntb_range last; /* empty, at the end: what is before it is the room behind all others */
};

/** The first range behind @p offset or at it, by offset; NULL: there is none. */
struct ntb_range *ntb_range_from(const struct ntb_allocator *allocator, uint64_t offset);

/** @param most  how many ranges there can be. */
void ntb_allocator_begin(struct ntb_allocator *allocator, uint64_t first, uint64_t end,
                         uint64_t granule, uint32_t max);
/** For another part of the same pool: its ranges count for the limit of @p other, which ends
 *  after it. */
void ntb_allocator_begin_beside(struct ntb_allocator *allocator, uint64_t first, uint64_t end,
                                struct ntb_allocator *other);
void ntb_allocator_end(struct ntb_allocator *allocator);

/** Take @p length bytes, a multiple of the granule, at the lowest offset where they fit. NULL:
 *  there is no room or no memory, or the limit is reached. */
struct ntb_range *ntb_allocate(struct ntb_allocator *allocator, uint64_t length);
/** Take exactly this part. NULL: as ntb_allocate(), or some of it is taken. */
struct ntb_range *ntb_reserve(struct ntb_allocator *allocator, uint64_t offset, uint64_t length);
/** Give it back. */
void ntb_free_range(struct ntb_allocator *allocator, struct ntb_range *range);
/** The longest extent that ntb_allocate() could make now, bytes. */
uint64_t ntb_largest(const struct ntb_allocator *allocator);
