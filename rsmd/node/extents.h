/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Memory that clients take and give back. Where its transport allows it, a thread does what may
 * take long. The client is charged for bytes and descriptor from before the memory is made until it
 * is free.
 */
#ifndef RSMD_EXTENTS_H
#define RSMD_EXTENTS_H

#include "node/call.h"

/** A client's extent by id; NULL: there is none, or it is another client's. */
struct rsmd_extent *rsmd_client_extent(const struct rsmd_node *node,
                                       const struct rsmd_client *client, uint32_t id);

/** The description of the descriptor, for the client. */
struct rsm_extent_about rsmd_extent_about(const struct rsmd_extent *extent);

/** Make one at once. RSM_ST_NO_MEMORY beyond max-exported-memory; RSM_ST_NO_RESOURCES beyond the
 *  client's share; RSM_ST_BUSY: only a thread can, see rsmd_extent_make_later(). */
enum rsm_status rsmd_extent_make(struct rsmd_node *node, struct rsmd_client *client,
                                 struct rsmd_controller *controller, uint64_t length,
                                 struct rsmd_extent **made);

/**
 * Let a thread make one and answer the request: EXTENT_ALLOC, or EXPORT_CREATE whose @p exported
 * exists already and is freed if this fails.
 * @param export  NULL for EXTENT_ALLOC.
 * @return RSM_ST_OK, and call->later is set; else as rsmd_extent_make(), and @p exported is still
 *         the caller's.
 */
enum rsm_status rsmd_extent_make_later(struct rsmd_call *call, struct rsmd_controller *controller,
                                       uint64_t length, const struct rsmd_export *exported);

/** Free one, at once or by a thread. If a transport's job still uses it, its client must be ending;
 *  it is freed after that job. @p call: the request to answer when its memory is free; NULL:
 *  none. */
void rsmd_extent_free(struct rsmd_node *node, struct rsmd_extent *extent, struct rsmd_call *call);

/** How many bytes of its memory are charged as pinned. */
uint64_t rsmd_extent_pinned(const struct rsmd_extent *extent);

/* ------------------------------------------------------------------ pieces of segments */

/** Make a list of up to @p max pieces that holds its extents. The caller has the first reference.
 *  NULL: no memory. */
struct rsmd_pieces *rsmd_pieces_make(uint32_t max);
void rsmd_pieces_add(struct rsmd_pieces *pieces, struct rsmd_extent *extent, uint64_t offset,
                     uint64_t length);
struct rsmd_pieces *rsmd_pieces_hold(struct rsmd_pieces *pieces);
void rsmd_pieces_drop(struct rsmd_pieces *pieces);
/** Whether another process may have any of it mapped. */
bool rsmd_pieces_offered(const struct rsmd_pieces *pieces);
void rsmd_pieces_mark_offered(struct rsmd_pieces *pieces);

#endif
