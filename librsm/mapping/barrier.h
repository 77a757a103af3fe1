/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What calls and the service thread do with a space; the caller holds its lock. */
#pragma once

#include "mapping/space.h"

/**
 * Before and after the transport's put to [offset, offset + length), length not 0; and before its
 * get. The transfer itself is without the lock: it touches the program's memory, which may fault.
 */
void mapping_before_put(struct mapping_space *space, uint64_t offset, size_t length);
void mapping_after_put(struct mapping_space *space, uint64_t offset, size_t length);
void mapping_before_get(struct mapping_space *space);

/** order() and complete() of the vtable for stores too. */
enum rsm_status mapping_barrier_order(struct mapping_space *space);
enum rsm_status mapping_barrier_complete(struct mapping_space *space);

/** Later loads see what the segment has now. In mirror mode only when all pages have been reread.
 */
void mapping_acquire(struct mapping_space *space);
/** In mirror mode: some pages from @p from to before @p end are what the segment has now. Returns
 *  where to go on; @p end or more: nowhere. In others there is nothing to do. */
uint32_t mapping_reread(struct mapping_space *space, uint32_t from, uint32_t end);

/** Flush what has been dirty for long enough. */
void mapping_service(struct mapping_space *space);
/** Microseconds until mapping_service() has something to flush; 0: nothing is dirty. */
uint32_t mapping_service_due(const struct mapping_space *space);
/** Refresh the first RO page from @p from on if it is due; returns where to go on, or
 *  MAPPING_NO_PAGE. */
uint32_t mapping_service_next(struct mapping_space *space, uint32_t from);
