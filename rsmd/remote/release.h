/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Offers to other hosts that have been revoked here, and that the importers' nodes have not
 * released yet (struct rsm_node_import_ops). The message that releases one is DISCONNECT.
 */
#ifndef RSMD_REMOTE_RELEASE_H
#define RSMD_REMOTE_RELEASE_H

#include "node/grants.h"

struct rsmd_release;
struct rsmd_remote;

/** Make a release before the grant to a process of another host, so that waiting for the release of
 *  its offer cannot fail later. NULL: no memory. Its owner frees it with free(). */
struct rsmd_release *rsmd_release_make(void);
/** Set its grant. */
void rsmd_release_init(struct rsmd_release *release, const struct rsmd_grant *grant);
/** Wait until the node has released the offer, after the grant has been revoked. NULL: there is
 *  nothing to wait for. */
void rsmd_release_await(struct rsmd_remote *remote, struct rsmd_release *release);

/** The node has released the offer of the connection with this id. Unknown ids are ignored. */
void rsmd_release(struct rsmd_remote *remote, uint32_t import);
/** The link to the node has come up: mark all as unconfirmed, until the node names those that it
 *  still has. */
void rsmd_releases_anew(const struct rsmd_node *node, struct rsmd_remote *remote);
/** The node still has the offer of the connection with this id. */
void rsmd_release_keep(const struct rsmd_remote *remote, uint32_t import);
/** The node has named all that it has: release those of daemon @p incarnation that are
 *  unconfirmed. */
void rsmd_releases_others(struct rsmd_remote *remote, uint64_t incarnation);
/** Free all: this node ends. */
void rsmd_releases_end(struct rsmd_remote *remote);

#endif
