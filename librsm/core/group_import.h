/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A connection to a group: an import whose writes go to the copies of all members. */
#pragma once

#include "base/exports.h"
#include "core/import.h"

RSMCORE_EXPORTS_BEGIN

/**
 * Connect to the group @p segment_id (group.h). The connection is used as any other: put, elements,
 * order, barriers, and stores through mappings, which the mapping engine carries out. Members that
 * come later get what is written later; a thread looks for them. Reads see what this connection has
 * written, and zeroes elsewhere.
 *
 * A barrier reports RSM_ST_TRANSFER if a member may lack what was written, by a failure or because
 * it has left; the others have it. The connection itself is not aborted. It costs its user a
 * segment of the group's size, and events cannot be posted to it.
 *
 * @return RSM_ST_OK; RSM_ST_NOT_FOUND: there is no member; RSM_ST_DENIED and what else
 *         rsmcore_import_connect() says of one: there are nodes that have the segment, and none of
 *         them can be connected; what rsmcore_export_allocate() says.
 */
enum rsm_status rsmcore_import_connect_group(struct rsmcore_controller *controller,
                                             enum rsm_id_space space, uint32_t segment_id,
                                             struct rsmcore_import **out);

RSMCORE_EXPORTS_END

/** The connection ends: its thread looks for members no more. Before it is disconnected. */
void rsmcore_import_end_group(struct rsmcore_group_conn *made);
