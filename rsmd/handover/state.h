/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The whole state of a daemon in a snapshot: clients' connections, and what they have. */
#ifndef RSMD_HANDOVER_STATE_H
#define RSMD_HANDOVER_STATE_H

#include "common/snapshot.h"
#include "server/server.h"

/** Save all of a settled server. */
void rsmd_state_save(struct rsmd_snapshot *snapshot, const struct rsmd_server *server);

/** Restore it into a server without clients. The generation table is the predecessor's, and has
 *  free slots afterwards. A client that cannot be resumed ends as if its process had ended; the
 *  reason is logged. False: it is not the state of this node, or no memory; nothing was
 *  restored. */
bool rsmd_state_restore(struct rsmd_snapshot_reader *reader, struct rsmd_server *server);

#endif
