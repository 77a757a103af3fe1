/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What calls and the service thread do with a space; the caller holds its lock. */
#ifndef RSMCORE_SOFTMAP_BARRIER_H
#define RSMCORE_SOFTMAP_BARRIER_H

#include "mapping/space.h"

/**
 * Before and after the transport's put to [offset, offset + length), length not 0; and before its
 * get. The transfer itself is without the lock: it touches the program's memory, which may fault.
 */
void softmap_before_put(struct softmap_space *space, uint64_t offset, size_t length);
void softmap_after_put(struct softmap_space *space, uint64_t offset, size_t length);
void softmap_before_get(struct softmap_space *space);

/** order() and complete() of the vtable for stores too; errors of the time before are told. */
enum rsm_status softmap_barrier_order(struct softmap_space *space);
enum rsm_status softmap_barrier_complete(struct softmap_space *space);

/** Later loads see what the segment has now. In mirror mode only when all pages have been reread.
 */
void softmap_acquire(struct softmap_space *space);
/** In mirror mode: some pages from @p from to before @p end are what the segment has now. Returns
 *  where to go on; @p end or more: nowhere. In others there is nothing to do. */
uint32_t softmap_reread(struct softmap_space *space, uint32_t from, uint32_t end);

/** Flush what has been dirty for long enough. */
void softmap_service(struct softmap_space *space);
/** Microseconds until softmap_service() has something to flush; 0: nothing is dirty. */
uint32_t softmap_service_due(const struct softmap_space *space);
/** Refresh the first RO page from @p from on if it is due; returns where to go on, or
 *  SOFTMAP_NO_PAGE. */
uint32_t softmap_service_next(struct softmap_space *space, uint32_t from);

#endif
