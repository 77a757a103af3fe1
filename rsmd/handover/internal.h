/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What both sides of a handover use. */
#ifndef RSMD_HANDOVER_INTERNAL_H
#define RSMD_HANDOVER_INTERNAL_H

#include "common/snapshot.h"
#include "server/server.h"

/** One descriptor is handed over: a queue (queue.h) of state, table, lock, the listener if there is
 *  one, and those of the snapshot. The service manager stores it under this name, whose number
 *  changes with the content of the queue. A program executed in place finds the descriptor's number
 *  in this environment variable. */
#define RSMD_HANDOVER_STORED   "rsmd-state-1"
#define RSMD_HANDOVER_VARIABLE "RSMD_HANDOVER"
enum { RSMD_HANDOVER_OWN = 3 }; /* state, table and lock */

struct rsmd_parcel {
    struct rsmd_snapshot snapshot;
    int state, table, lock, listener;
};

/* state.c: the whole state of a daemon in a snapshot: clients' connections, and what they have. */

/** Save all of a settled server. */
void rsmd_state_save(struct rsmd_snapshot *snapshot, const struct rsmd_server *server);

/** Restore it into a server without clients. The generation table is the predecessor's, and has
 *  free slots afterwards. A client that cannot be resumed ends as if its process had ended; the
 *  reason is logged. False: it is not the state of this node, or no memory; nothing was
 *  restored. */
bool rsmd_state_restore(struct rsmd_snapshot_reader *reader, struct rsmd_server *server);

#endif
