/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Event counters of handles: memory and pipe ends that rsmd keeps to introduce peers. */
#ifndef RSMD_EVENTS_H
#define RSMD_EVENTS_H

#include "node/node.h"

void rsmd_events_init(struct rsmd_events *events);
/** Close what is open; it was charged to @p account. */
void rsmd_events_close(struct rsmd_account *account, struct rsmd_events *events);

/** Make the counter's memory if there is none yet, charged to @p account. RSM_ST_NO_RESOURCES,
 *  RSM_ST_NO_MEMORY. */
enum rsm_status rsmd_events_need_cell(struct rsmd_account *account, struct rsmd_events *events);
/** Post to a counter whose memory is there, and wake its owner. False: it cannot be mapped now. */
bool rsmd_events_post(const struct rsmd_events *events, uint32_t count, bool coalesce);

/** What a counter holds, which both ends can see, and write: it is shown, and nothing relies on it.
 *  0 where there is none. */
struct rsmd_events_seen {
    uint32_t pending, waiters;
};
struct rsmd_events_seen rsmd_events_see(const struct rsmd_events *events);

/** Whether those who have the counter of an interrupt may post to it without rsmd. Of a counter whose
 *  memory is there this does not map it, so it needs no memory; false: it is as it was. */
bool rsmd_events_set_direct(const struct rsmd_events *events, bool direct);
/** Make the owner's poll descriptor, if there is one, readable. */
void rsmd_events_ring(const struct rsmd_events *events);

/** A new event counter, sealed; the descriptor becomes the caller's. */
enum rsm_status rsmd_event_counter_create(int *counter);

/** Events that a remote node has passed on, for the owner of a handle here; with @p coalesced one
 * more came before them unless some were pending. */
void rsmd_export_posted(struct rsmd_node *node, struct rsmd_export *exported, uint32_t count,
                        bool coalesced);
void rsmd_import_posted(struct rsmd_node *node, struct rsmd_import *import, uint32_t count,
                        bool coalesced);

/** The importer of this live connection has signalled @p count times, over the fabric. */
void rsmd_import_signalled(struct rsmd_node *node, struct rsmd_import *import, uint32_t count,
                           bool coalesced);
/** The fabric has lost the importer of this live connection. */
void rsmd_import_lost(struct rsmd_node *node, struct rsmd_import *import);

#endif
