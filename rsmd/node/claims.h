/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Segments that have their id from creation to end, and a state for each adapter that decides
 * whether importers can connect. Such a segment can be shared: other processes of the node attach
 * to it and may then change its state as its exporter does.
 */
#ifndef RSMD_CLAIMS_H
#define RSMD_CLAIMS_H

#include "node/connect.h"
#include "node/node.h"

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
