/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Segments across hosts: what this node and a node of another host have in common while the link
 * between them is up, and the messages about it. Knows no socket: how messages travel is the
 * carrier's affair (cluster/cluster.h).
 *
 *  - A process here imports from there: the connect is forwarded and answered when the remote node
 *    has. The connection is an import here, with a slot of its own, and a grant there.
 *  - A process there imports from here: the mirror image.
 *  - Events go through relays (relay.h).
 *
 * When the link goes, everything in common ends (ends.c): connections from here are aborted, those
 * from there are revoked and freed, forwarded connects are answered with RSM_ST_UNREACHABLE. There
 * can be tens of thousands, so that it is done in slices. Importers here can see at once that their
 * connections are cut; until one from there is revoked its exporter sees it as connected, and its
 * memory is not used for anything else.
 *
 * All on rsmd's one thread. What a remote node sends is checked; a message that fits nothing is
 * ignored, because it may have crossed one of ours.
 */
#ifndef RSMD_REMOTE_REMOTE_H
#define RSMD_REMOTE_REMOTE_H

#include "node/call.h"
#include "cluster/proto.h"

struct event_base;

/** How messages reach nodes of other hosts. */
struct rsmd_remote_ops {
    void *context;
    /** Queue a message. False: the link is not up. */
    bool (*send)(void *context, uint32_t node, const struct rsm_cluster_msg *msg);
    /** Bytes queued to a node and not yet taken by its link. */
    size_t (*queued)(void *context, uint32_t node);
    /** rsmd_remote_busy() is not true any more of that node. May be NULL. */
    void (*proceed)(void *context, uint32_t node);
};

/** Be ready for other hosts; sets @p node's `hosts`. False: out of memory. */
bool rsmd_remote_start(struct rsmd_node *node, struct event_base *base,
                       const struct rsmd_remote_ops *carrier);
/** All links are as good as down; the node's clients have gone. Harmless without start. */
void rsmd_remote_stop(struct rsmd_node *node);

/* What happens on the links, as struct rsmd_cluster_user wants it: @p context is the node. */
void rsmd_remote_up(void *context, uint32_t id);
void rsmd_remote_down(void *context, uint32_t id);
void rsmd_remote_message(void *context, uint32_t id, const struct rsm_cluster_msg *msg);
/** Whether the link has gone and not all that was in common has ended. */
bool rsmd_remote_busy(void *context, uint32_t id);

/** A client goes: what it has forwarded will not be answered. */
void rsmd_remote_abandon(struct rsmd_client *client);

#endif
