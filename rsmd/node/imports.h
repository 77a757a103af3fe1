/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Imports: connections at the importer's side, handles of clients. */
#ifndef RSMD_IMPORTS_H
#define RSMD_IMPORTS_H

#include "node/importers.h"

struct rsmd_import;

/** The operations on the exporter's end of an import: an export of this node (imports.c) or of a
 *  node of another host (remote/). */
struct rsmd_exporter_ops {
    /** The client ends the connection, unless it was aborted; @p import is about to be freed. */
    void (*disconnect)(struct rsmd_node *node, struct rsmd_import *import);
    /** The counter through which the client posts to the exporter. NULL and RSM_ST_OK: the
     *  connection was aborted. */
    enum rsm_status (*receiver)(struct rsmd_node *node, struct rsmd_import *import,
                                const struct rsmd_events **events);
    /** The client has posted to that counter: ring its doorbell. False: there is none. */
    bool (*ring)(struct rsmd_import *import);
    /** What rsmstat shows of the export. */
    void (*about)(const struct rsmd_import *import, struct rsm_inspect_item *item);
};

struct rsmd_import {
    struct rsmd_importer importer; /* first, so that it leads here */
    const struct rsmd_exporter_ops *exporter_ops;
    struct rsmd_client *client;
    struct rsmd_events events;
    bool aborted;
    bool asked_to_leave;             /* the segment has become unavailable since it connected */
    bool disconnected;               /* by the importer, as opposed to its death */
    struct mapping_choice choice;    /* of the mapping engine, as the importer reports */
    struct rsmd_import *prev, *next; /* of the client */
};

/** Initialise an import that is not connected yet, with the operations of an export of this
 *  node. */
void rsmd_import_init(struct rsmd_node *node, struct rsmd_import *import,
                      struct rsmd_client *client);
/** Give a connected import to its client. */
void rsmd_import_add(struct rsmd_import *import);

/** A client's own import by id; NULL: there is none, or it is another client's. */
struct rsmd_import *rsmd_client_import(const struct rsmd_node *node,
                                       const struct rsmd_client *client, uint32_t id);

/** Abort it: the connection has ended, and the client learns of that. The client keeps the
 *  handle. */
void rsmd_import_aborted(struct rsmd_node *node, struct rsmd_import *import);
/** Disconnect if it is still connected, and free. */
void rsmd_import_free(struct rsmd_node *node, struct rsmd_import *import);

/** Deliver events that a remote node has passed on to the importer; as rsmd_export_posted(). */
void rsmd_import_posted(struct rsmd_node *node, struct rsmd_import *import, uint32_t count,
                        bool coalesced);

#endif
