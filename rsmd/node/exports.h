/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Exports: make, find and end them. Nothing here checks permissions. */
#pragma once

#include "node/node.h"

/** A client's own export by id; NULL: there is none, or it is another client's. */
struct rsmd_export *rsmd_client_export(const struct rsmd_node *node,
                                       const struct rsmd_client *client, uint32_t id);

/** An export with length, rights and owner yet to be filled in. RSM_ST_NO_RESOURCES: the
 *  client's account may have no more segments. */
enum rsm_status rsmd_export_make(struct rsmd_node *node, struct rsmd_client *client,
                                 struct rsmd_controller *controller, struct rsmd_export **made);
/** Whether it has connections or attached processes. */
bool rsmd_export_is_used(const struct rsmd_export *exported);
/** Cut the first of those. Does nothing else, also to an export that has ended. */
void rsmd_export_cut_first(struct rsmd_node *node, struct rsmd_export *exported);
/** Abort a connection, and settle the export. */
void rsmd_export_abort(struct rsmd_node *node, struct rsmd_grant *grant);
/** Free the name of an export whose exporter has gone. */
void rsmd_export_unname(struct rsmd_node *node, struct rsmd_export *exported);
/** Enter it under that name, until it is withdrawn or, if it has claimed the name, freed. False: no
 *  memory. */
bool rsmd_export_name(struct rsmd_node *node, struct rsmd_export *exported,
                      const struct rsmd_segment_name *name);
/** End the publication: the segment id is free unless it is claimed. Connections are left alone. */
void rsmd_export_withdraw(struct rsmd_node *node, struct rsmd_export *exported);
/** Withdraw it and take it from the client. Its connections are to be cut. */
void rsmd_export_destroy(struct rsmd_node *node, struct rsmd_export *exported);
/** Take it from the client. It is withdrawn when the last attached process has gone, and freed with
 *  the last connection. */
void rsmd_export_defer(struct rsmd_node *node, struct rsmd_export *exported);
/** Update an export after a connection has ended, or its exporter has ended it. An export without
 *  exporter stays open until the last attached process has gone, and is freed with its last
 *  connection. Reports to importers are sent in the turns of @p client. */
void rsmd_export_settle(struct rsmd_node *node, struct rsmd_client *client,
                        struct rsmd_export *exported);
/** Withdraw, abort and free. */
void rsmd_export_free(struct rsmd_node *node, struct rsmd_export *exported);

/** Deliver events that a remote node has passed on to the exporter; @p coalesced: a coalesced one
 *  came before them. */
void rsmd_export_posted(struct rsmd_node *node, struct rsmd_export *exported, uint32_t count,
                        bool coalesced);
