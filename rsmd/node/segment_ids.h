/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Ids of published segments: the rules of each name space, and which segment has which
 *  id. */
#ifndef RSMD_SEGMENT_IDS_H
#define RSMD_SEGMENT_IDS_H

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

#endif
