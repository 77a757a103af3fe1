/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The mappings that make up a range, checked for what the page swap can deal with. */
#pragma once

#include "pageswap/pageswap.h"
#include "pageswap/vma.h"

/** One mapping's share of a range. */
struct rsmcore_part {
    struct rsmcore_vma vma; /**< clipped to the range */
    enum rsmcore_backing backing;
};

struct rsmcore_parts {
    struct rsmcore_part *list; /**< ascending, without gaps; free() it */
    size_t count;
};

/** Add the parts of [address, address + length) to *parts, or say as rsmcore_range_check() does
 *  why the range will not do. Parts added before the failure stay. */
enum rsm_status rsmcore_range_parts(uintptr_t address, size_t length, unsigned flags,
                                    struct rsmcore_parts *parts);

/** Add one part. RSM_ST_OK or RSM_ST_NO_MEMORY. */
enum rsm_status rsmcore_range_add(struct rsmcore_parts *parts, const struct rsmcore_vma *vma,
                                  enum rsmcore_backing backing);

/** Whether a range holds memory that the calling thread itself stores into while it swaps: its
 *  stack from @p frame (the frame address of the outermost function of the swap) on, or errno. */
bool rsmcore_range_is_in_use(uintptr_t address, size_t length, const void *frame);
