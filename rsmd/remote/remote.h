/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Segments across hosts: the connections between this node and a node of another host while their
 * link is up, and the messages about them. The carrier (cluster/cluster.h) transfers the messages.
 *
 *  - A process here imports from the remote node: the connect is forwarded, and answered when the
 *    remote node has answered. The connection is an import here, with its own slot, and a grant at
 *    the remote node.
 *  - A process of the remote node imports from here: the mirror image.
 *  - Events go through relays (relay.c).
 *  - A request to a node whose link is made on demand waits for the link (parked.c).
 *
 * When the link goes down, all of that ends (ends.c): imports from the remote node are aborted, its
 * grants are revoked and freed, forwarded connects fail with RSM_ST_UNREACHABLE. There can be tens
 * of thousands, so they end in slices. Importers here see at once that their connections are cut.
 * Until a grant is revoked its exporter sees it as connected, and its memory is not reused.
 *
 * All functions run on rsmd's main thread. Messages of a remote node are checked; one about an
 * unknown object is ignored, because it may have crossed another message.
 */
#pragma once

#include "node/call.h"
#include "cluster/cluster.h"

struct event_base;

/** How messages reach nodes of other hosts. */
struct rsmd_remote_ops {
    void *context;
    /** Queue a message. False: the link is not up. */
    bool (*send)(void *context, uint32_t node, const struct rsm_cluster_msg *msg);
    /** Bytes queued to a node and not yet taken by its link. */
    size_t (*queued)(void *context, uint32_t node);
    /** Use the link for a message that begins something; rsmd_remote_needed() follows
     *  RSMD_LINK_AWAITED. NULL, as the next two: links are permanent. */
    enum rsmd_link_use (*need)(void *context, uint32_t node);
    /** As in hosts.h. */
    bool (*may_link)(void *context, uint32_t node);
    bool (*may_reach)(void *context, uint32_t node);
    /** rsmd_remote_busy() has become false for that node. May be NULL. */
    void (*proceed)(void *context, uint32_t node);
};

/** Begin to serve other hosts; sets @p node's `hosts`. False: out of memory. */
bool rsmd_remote_start(struct rsmd_node *node, struct event_base *base,
                       const struct rsmd_remote_ops *carrier);
/** End, after the node's clients have gone; all links count as down. Harmless without start. */
void rsmd_remote_stop(struct rsmd_node *node);

/* The callbacks of struct rsmd_cluster_user: @p context is the node. */
void rsmd_remote_up(void *context, uint32_t id);
void rsmd_remote_down(void *context, uint32_t id);
void rsmd_remote_message(void *context, uint32_t id, const struct rsm_cluster_msg *msg);
/** Whether the link has gone down and not all of its connections have ended. */
bool rsmd_remote_busy(void *context, uint32_t id);

/** Whether anything is left of connections with that node. */
bool rsmd_remote_in_use(void *context, uint32_t id);
/** A link that was needed can be used, or cannot be made. */
void rsmd_remote_needed(void *context, uint32_t id, bool made);

/** The node does not answer, for now, or answers again: note it in the records of all connections
 *  with it. */
void rsmd_remote_silent(void *context, uint32_t id, bool silent);

/** Forget what an ending client has forwarded: it will not be answered. */
void rsmd_remote_abandon(struct rsmd_client *client);
