/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What giver and receiver agree upon. */
#ifndef RSMD_HANDOVER_INTERNAL_H
#define RSMD_HANDOVER_INTERNAL_H

#include "common/snapshot.h"

/** In the environment of a program that was executed in place: the descriptors of state, table, lock
 *  and listener. */
#define RSMD_HANDOVER_VARIABLE "RSMD_HANDOVER"
enum { RSMD_HANDOVER_TEXT = 80 };

/** In the service manager's store: a queue (queue.h) with state, table, lock, the listener if there
 *  is one, and those of the snapshot. The version changes with that. */
#define RSMD_HANDOVER_STORED "rsmd-state-1"
enum { RSMD_HANDOVER_OWN = 3 }; /* state, table and lock */

struct rsmd_parcel {
    struct rsmd_snapshot snapshot;
    int state, table, lock, listener;
};

#endif
