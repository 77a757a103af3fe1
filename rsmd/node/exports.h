/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Exports: making, finding and ending them. Nothing here decides who may. */
#ifndef RSMD_EXPORTS_H
#define RSMD_EXPORTS_H

#include "node/node.h"

/** A client's own export by id; NULL: there is none, or it is another client's. */
struct rsmd_export *rsmd_client_export(const struct rsmd_node *node,
                                       const struct rsmd_client *client, uint32_t id);

/** An export with length, rights and owner yet to be filled in. RSM_ST_NO_RESOURCES: the
 *  client's account may have no more segments. */
enum rsm_status rsmd_export_make(struct rsmd_node *node, struct rsmd_client *client,
                                 struct rsmd_controller *controller, struct rsmd_export **made);
/** Whether it has connections, or others are attached to it. */
bool rsmd_export_is_used(const struct rsmd_export *exported);
/** Cut the first of those; of an export that has ended nothing else happens. */
void rsmd_export_cut_first(struct rsmd_node *node, struct rsmd_export *exported);
/** End a connection that its importer has not ended, and settle the export. */
void rsmd_export_abort(struct rsmd_node *node, struct rsmd_grant *grant);
/** Give its name up although its exporter has not: he has gone. */
void rsmd_export_unname(struct rsmd_node *node, struct rsmd_export *exported);
/** Enter it under that name, until it is withdrawn or, if it has claimed the name, freed. False: no
 *  memory. */
bool rsmd_export_name(struct rsmd_node *node, struct rsmd_export *exported,
                      const struct rsmd_segment_name *name);
/** End the publication: the segment id is free unless it is claimed. Connections are left alone. */
void rsmd_export_withdraw(struct rsmd_node *node, struct rsmd_export *exported);
/** Withdraw, and let the client have it no more; its connections are to be cut. */
void rsmd_export_destroy(struct rsmd_node *node, struct rsmd_export *exported);
/** Withdraw when nobody is attached any more, and free when the last connection has gone; the
 *  client has it no more. */
void rsmd_export_defer(struct rsmd_node *node, struct rsmd_export *exported);
/** A connection has parted from its export, or the exporter has ended it. What the exporter has
 *  left behind stays open until the last one who is attached has gone; the last connection takes
 *  the rest. Who has to be told is in the turns of @p client. */
void rsmd_export_settle(struct rsmd_node *node, struct rsmd_client *client,
                        struct rsmd_export *exported);
/** Withdraw, abort and free. */
void rsmd_export_free(struct rsmd_node *node, struct rsmd_export *exported);

/** Events that a remote node has passed on, for the exporter; with @p coalesced one more came
 *  before them unless some were pending. */
void rsmd_export_posted(struct rsmd_node *node, struct rsmd_export *exported, uint32_t count,
                        bool coalesced);

#endif
