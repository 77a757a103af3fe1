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

/** For a grant to a process of another host, made before that: so that the release of its offer
 *  cannot fail for want of memory later. NULL: no memory. Whoever has it frees it with free(). */
struct rsmd_release *rsmd_release_make(void);
/** The grant that it is for. */
void rsmd_release_init(struct rsmd_release *release, const struct rsmd_grant *grant);
/** The grant has been revoked: wait until the node has released the offer. NULL: that is not
 *  due. */
void rsmd_release_await(struct rsmd_remote *remote, struct rsmd_release *release);

/** The node has released what the connection with this id had; ids that nothing waits for are
 *  ignored. */
void rsmd_release(struct rsmd_remote *remote, uint32_t import);
/** The link to the node has come up: until the node has said otherwise, it may have nothing of
 *  these any more. */
void rsmd_releases_anew(const struct rsmd_node *node, struct rsmd_remote *remote);
/** The node still has what the connection with this id had. */
void rsmd_release_keep(const struct rsmd_remote *remote, uint32_t import);
/** The node has named all that it has: what its present daemon had before the link came up, and was
 *  not kept since, is released. */
void rsmd_releases_others(struct rsmd_remote *remote, uint64_t incarnation);
/** This node ends. */
void rsmd_releases_end(struct rsmd_remote *remote);

#endif
