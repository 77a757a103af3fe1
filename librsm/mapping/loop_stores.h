/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A loop whose stores to a view are sent as they are, many at once. */
#pragma once

#include <ucontext.h>

#include "mapping/decode.h"
#include "mapping/space.h"

/** What of the segment the view of a fault shows. */
struct mapping_loop_view {
    uintptr_t origin;  /**< address that the segment's first byte would have */
    uint64_t from, to; /**< offsets in the segment */
};

/** As how many stores one of that length counts for mapping_prefers_twin(). Vectors are what copies
 *  are made of: they count by their size. */
static inline unsigned mapping_loop_weight(size_t length)
{
    return length < sizeof(uint64_t) ? 1 : (unsigned)(length / sizeof(uint64_t));
}

/** Carry out the loop that @p store at @p context belongs to, as far as that is possible. False:
 *  nothing of it is, and nothing has changed. @p twin: mapping_prefers_twin() has said so of the
 *  store. Async-signal-safe. */
bool mapping_loop_stores(struct mapping_space *space, const struct mapping_loop_view *view,
                         const struct mapping_store *store, bool twin, ucontext_t *context);
