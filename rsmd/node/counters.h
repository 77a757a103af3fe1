/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The event counter of a handle and the doorbell beside it, as rsmd keeps them.
 *
 * Clients have the counter's memfd, too, and one that writes to it holds its inode's lock for as
 * long as it likes: the source of the write may be a page of a file system that never answers. rsmd
 * therefore makes no system call on the memfd that takes this lock. It reads and writes counters
 * through mappings, and keeps the mappings of the first ones that it needs.
 *
 * The doorbell makes the owner's poll descriptor readable. It is a pair of sockets, of which the
 * owner polls one end and rsmd writes to the other. Sends to it never wait, and no end can hold
 * descriptors whose close would be rsmd's. All of it on rsmd's main thread.
 */
#ifndef RSMD_COUNTERS_H
#define RSMD_COUNTERS_H

#include "node/node.h"

void rsmd_events_init(struct rsmd_events *events);
/** Close what is open; it was charged to @p account. */
void rsmd_events_close(struct rsmd_account *account, struct rsmd_events *events);

/** Make the counter's memory if there is none yet, charged to @p account. RSM_ST_NO_RESOURCES,
 *  RSM_ST_NO_MEMORY. */
enum rsm_status rsmd_events_need_counter(struct rsmd_account *account, struct rsmd_events *events);

/** Map a counter that has memory, or return the mapping that is kept. NULL: it cannot be mapped
 *  now. */
struct rsm_event_counter *rsmd_events_map(struct rsmd_events *events);
/** Release the mapping for now. NULL is harmless. */
void rsmd_events_unmap(const struct rsmd_events *events, struct rsm_event_counter *counter);

/** Post to a counter that has memory, and wake its owner. False: it cannot be mapped now. */
bool rsmd_events_post(struct rsmd_events *events, uint32_t count, bool coalesce);

/** Note that an event is lost because the handle's counter could not be made. The owner gets an
 *  error when it looks for events. */
void rsmd_events_miss(struct rsmd_node *node, const struct rsmd_client *owner,
                      struct rsmd_events *events);
/** Post to the counter of a client's handle, which is made if there is none. If that fails, the
 *  owner misses the events. */
void rsmd_events_deliver(struct rsmd_node *node, const struct rsmd_client *owner,
                         struct rsmd_account *account, struct rsmd_events *events, uint32_t count,
                         bool coalesced);
/** The same for @p count events; @p coalesced: a coalesced one came before them. */
void rsmd_events_deliver_batch(struct rsmd_node *node, const struct rsmd_client *owner,
                               struct rsmd_account *account, struct rsmd_events *events,
                               uint32_t count, bool coalesced);

/** The content of a counter, for display only: both ends can write it. 0 without a counter. */
struct rsmd_events_seen {
    uint32_t pending, waiters;
};
struct rsmd_events_seen rsmd_events_see(const struct rsmd_events *events);

/** Allow or forbid processes that have the counter of an interrupt to post to it without rsmd. The
 *  counter has memory. Allowing it keeps a mapping, so that forbidding it cannot fail. False:
 *  unchanged. */
bool rsmd_events_set_direct(struct rsmd_events *events, bool direct);

/** Make the two ends of a doorbell: the one that the owner polls, which the caller passes on and
 *  closes, and the one that rings, which replaces a former one. RSM_ST_NO_RESOURCES,
 *  RSM_ST_NO_MEMORY. */
enum rsm_status rsmd_events_arm(struct rsmd_account *account, struct rsmd_events *events,
                                int *polled);
/** Make the owner's poll descriptor readable. False: it has none, or has closed it. */
bool rsmd_events_ring(const struct rsmd_events *events);

#endif
