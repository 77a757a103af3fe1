/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What giver and receiver agree upon. */
#ifndef RSMD_HANDOVER_INTERNAL_H
#define RSMD_HANDOVER_INTERNAL_H

#include "common/snapshot.h"

/** What is handed over is one descriptor: a queue (queue.h) with state, table, lock, the listener
 *  if there is one, and those of the snapshot. The service manager keeps it in its store under this
 *  name, whose number changes with what is in the queue; and a program that is executed in place
 *  finds its number in this variable of the environment. */
#define RSMD_HANDOVER_STORED   "rsmd-state-1"
#define RSMD_HANDOVER_VARIABLE "RSMD_HANDOVER"
enum { RSMD_HANDOVER_OWN = 3 }; /* state, table and lock */

struct rsmd_parcel {
    struct rsmd_snapshot snapshot;
    int state, table, lock, listener;
};

#endif
