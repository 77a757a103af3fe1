/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What calls and the service thread do with a space; the caller holds its lock. */
#ifndef RSMCORE_SOFTMAP_BARRIER_H
#define RSMCORE_SOFTMAP_BARRIER_H

#include "core/softmap/space.h"

/** @p width 0: put() and get() of the transport, else its put_elems() and get_elems(). @p length
 *  is in bytes, not 0. The local memory is none of a view. */
enum rsm_status softmap_put(struct softmap_space *space, uint64_t offset, const void *src,
                            unsigned width, size_t length);
enum rsm_status softmap_get(struct softmap_space *space, uint64_t offset, void *dst, unsigned width,
                            size_t length);

/** order() and complete() of the vtable for stores too; errors of the time before are told. */
enum rsm_status softmap_barrier_order(struct softmap_space *space);
enum rsm_status softmap_barrier_complete(struct softmap_space *space);

/** Later loads see what the segment has now. */
void softmap_acquire(struct softmap_space *space);

/** Flush what has been dirty for long enough. */
void softmap_service(struct softmap_space *space);
/** Refresh the first RO page from @p from on if it is due; returns where to go on, or
 *  SOFTMAP_NO_PAGE. */
uint32_t softmap_service_next(struct softmap_space *space, uint32_t from);

#endif
