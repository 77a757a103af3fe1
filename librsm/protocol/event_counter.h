/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Posting to an event counter (protocol/sharedmem.h): what processes do to each other's, and
 *  rsmd to those of its clients when an event comes from another host. Any number of threads and
 *  processes may. */
#pragma once

#include <stdbool.h>

#include "protocol/sharedmem.h"
#include "rsm/transport.h"

/** Map a received counter, or with -1 a private one; NULL if that is no counter, or it cannot be
 * mapped. The descriptor stays the caller's. */
struct rsm_event_counter *rsm_event_counter_map(int fd);
void rsm_event_counter_unmap(struct rsm_event_counter *counter);

/**
 * Post @p count events, or with @p coalesce one unless some are pending, and wake a sleeper. A
 * counter at its maximum stays there. On a relay counter a coalesced event is recorded for the
 * other host, which decides whether it counts.
 * @return whether the owner's poll descriptor has to be made readable, which rsmd does.
 */
bool rsm_event_counter_post(struct rsm_event_counter *counter, uint32_t count, bool coalesce);

/** Take back an event that was posted just now, as if it had not been. False: it has been
 *  consumed. */
bool rsm_event_counter_retract(struct rsm_event_counter *counter, bool coalesce);

/** Whether the owner has a poll descriptor. */
static inline bool rsm_event_counter_is_armed(const struct rsm_event_counter *counter)
{
    return atomic_load_explicit(&counter->armed, memory_order_relaxed) != 0;
}

/** Whether a post can come while the caller keeps its processor: not if the poster was on the same
 *  one the last time. What a poster writes is only compared: a liar makes its waiters sleep at
 *  once, or not, and no more. */
bool rsm_event_counter_may_spin(const struct rsm_event_counter *counter);

/** Take what a relay counter holds, to be passed on. Its poster has it rung when the next comes. */
struct rsm_signals rsm_event_counter_take(struct rsm_event_counter *counter);
