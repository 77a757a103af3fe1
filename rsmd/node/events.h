/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Events of handles: requests about their counters, and posts that come from other hosts. */
#ifndef RSMD_EVENTS_H
#define RSMD_EVENTS_H

#include "node/counters.h"

/** Events that a remote node has passed on, for the owner of a handle here; with @p coalesced one
 * more came before them unless some were pending. */
void rsmd_export_posted(struct rsmd_node *node, struct rsmd_export *exported, uint32_t count,
                        bool coalesced);
void rsmd_import_posted(struct rsmd_node *node, struct rsmd_import *import, uint32_t count,
                        bool coalesced);

/** The importer of this live connection has signalled @p count times, over the fabric. */
void rsmd_import_signalled(struct rsmd_node *node, struct rsmd_import *import, uint32_t count,
                           bool coalesced);
/** The fabric has lost the importer of this live connection. */
void rsmd_import_lost(struct rsmd_node *node, struct rsmd_import *import);

#endif
