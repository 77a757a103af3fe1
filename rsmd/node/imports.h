/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Importers of a node. Each has an id and a slot of the generation table, and its user is charged
 * for one segment. An importer is a process of this host that connects through this node
 * (an import), or a process of another host that imports from this node (remote/).
 *
 * Imports are connections at the importer's side, handles of clients.
 */
#pragma once

#include "node/node.h"

struct rsmd_import;

struct rsmd_importer;

/** The operations on an importer, on this host or another. */
struct rsmd_importer_ops {
    /** Revoke its grant, with @p event for the exporter, and notify the importer. Frees one on
     *  another host. */
    void (*abort)(struct rsmd_node *node, struct rsmd_importer *importer,
                  enum rsm_record_event event);
    /** The fabric has lost it. It has a grant. */
    void (*lost)(struct rsmd_node *node, struct rsmd_importer *importer);
    /** Notify it that the segment has become unavailable. */
    void (*unavailable)(struct rsmd_node *node, struct rsmd_importer *importer);
    /** The counter through which the exporter posts to it. */
    enum rsm_status (*receiver)(struct rsmd_node *node, struct rsmd_importer *importer,
                                const struct rsmd_events **events);
    /** The counter could not be made, and it misses an event. False: it had to be aborted. */
    bool (*missed)(struct rsmd_node *node, struct rsmd_importer *importer);
    /** The exporter has posted to that counter: ring its doorbell. False: it has none. */
    bool (*ring)(struct rsmd_importer *importer);
    /** It has taken the events that were sent to it over the fabric. */
    void (*taken)(struct rsmd_importer *importer);
    /** What rsmstat shows of it, beyond what is below. */
    void (*about)(const struct rsmd_importer *importer, struct rsm_inspect_item *item);
};

struct rsmd_importer {
    const struct rsmd_importer_ops *ops;
    uint32_t id;
    uint32_t slot;                      /* 0: it has not been entered */
    struct rsmd_account *account;       /* held; of its user */
    struct rsm_importer who;            /* as it was when it connected */
    uint32_t rights;                    /* granted */
    uint32_t exporter;                  /* node */
    struct rsmd_controller *controller; /* the segment's */
    bool attached;                /* it shares the segment as its exporter does (segment_ids.h) */
    struct rsmd_mailbox *records; /* NULL: it keeps none */
    bool silent;                  /* the node at the other end does not answer, for now */
    struct rsmd_grant *grant;     /* NULL: aborted, or the export is on another host */
    UT_hash_handle hh;            /* by id */
};

/** Give it an id and a slot, and charge @p account. RSM_ST_NO_RESOURCES, RSM_ST_NO_MEMORY: nothing
 *  has changed. */
enum rsm_status rsmd_importer_enter(struct rsmd_node *node, struct rsmd_importer *importer,
                                    struct rsmd_account *account);
/** The same for one of the daemon's predecessor. It keeps its id and slot, and the account is
 *  charged even if it is full. False: impossible, or no memory. */
bool rsmd_importer_resume(struct rsmd_node *node, struct rsmd_importer *importer,
                          struct rsmd_account *account);
/** Give all that back. Harmless for one that has not been entered. */
void rsmd_importer_leave(struct rsmd_node *node, struct rsmd_importer *importer);

/** NULL: there is none with that id. */
struct rsmd_importer *rsmd_importer_find(const struct rsmd_node *node, uint32_t id);

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
    struct mapping_counts counts;    /* likewise */
    struct rsm_group_stats group;    /* likewise ... ... */
    int64_t group_at;                /* ... at that time of rsm_clock_ns() */
    struct rsmd_import *prev, *next; /* of the client */
};

/** The import of a client of this node or host. NULL: it is on another host. */
const struct rsmd_import *rsmd_importer_import(const struct rsmd_importer *importer);

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
