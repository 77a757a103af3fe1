/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Ids of published segments: the rules of each name space, and which segment has which
 *  id. */
#ifndef RSMD_SEGMENT_IDS_H
#define RSMD_SEGMENT_IDS_H

#include "node/connect.h"
#include "node/node.h"

/** No id has been assigned yet. */
void rsmd_segment_ids_init(struct rsmd_node *node);

/** What rsmstat shows of a segment that has that name. */
static inline void rsmd_segment_about(const struct rsmd_segment_name *name,
                                      struct rsm_inspect_item *item)
{
    item->published = 1;
    item->space = name->space;
    item->segment_id = name->id;
}

/** The connectable segment of that name; NULL: there is none, or its exporter has gone. */
struct rsmd_export *rsmd_segment_named(const struct rsmd_node *node,
                                       const struct rsmd_segment_name *name);
/** The segment that has claimed that name, whatever its state is; NULL likewise. */
struct rsmd_export *rsmd_segment_claimed(const struct rsmd_node *node,
                                         const struct rsmd_segment_name *name);

/**
 * Check the id that a client asks for.
 * @param assign  rsmd is to choose the id; @p name has where to begin, in spaces that allow it.
 * @return RSM_ST_OK; RSM_ST_INVALID: no such space, or no client may ask for this id in it;
 *         RSM_ST_ID_IN_USE.
 */
enum rsm_status rsmd_segment_id_check(struct rsmd_node *node, const struct rsmd_segment_name *name,
                                      bool assign);

/** Choose a free id for a request that has been checked. RSM_ST_OK, or RSM_ST_NO_RESOURCES: the
 *  space has none left. */
enum rsm_status rsmd_segment_id_assign(struct rsmd_node *node, struct rsmd_segment_name *name);

/*
 * Segments that have their id from creation to end, and a state for each adapter that decides
 * whether importers can connect. Such a segment can be shared: other processes of the node attach
 * to it and may then change its state as its exporter does.
 */

/** Give a new segment the id that its creation claims, if any. RSM_ST_OK, RSM_ST_INVALID,
 *  RSM_ST_ID_IN_USE, RSM_ST_NO_RESOURCES, RSM_ST_NO_MEMORY. */
enum rsm_status rsmd_claim(struct rsmd_node *node, struct rsmd_export *exported,
                           const struct rsm_export_create_request *asked);

/** Whether the segment has claimed this name. */
bool rsmd_claim_is(const struct rsmd_export *exported, const struct rsmd_segment_name *name);

/** Whether importers with the right can connect. */
bool rsmd_export_is_open(const struct rsmd_export *exported);

/** Set the state from OPEN to READY on all adapters, because its memory is not known any more. */
void rsmd_claim_close(struct rsmd_export *exported);

/** Find the shared segment that a process wants to attach to. RSM_ST_OK, RSM_ST_NOT_FOUND,
 *  RSM_ST_DENIED, RSM_ST_NOT_PUBLISHED. */
enum rsm_status rsmd_claim_find(const struct rsmd_node *node, const struct rsmd_wanted *wanted,
                                struct rsmd_export **found);

#endif
