/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Importers of a node. Each has an id and a slot of the generation table, and its user is charged
 * for one segment. An importer is a process of this host that connects through this node
 * (imports.h), or a process of another host that imports from this node (remote/).
 */
#ifndef RSMD_IMPORTERS_H
#define RSMD_IMPORTERS_H

#include "node/node.h"

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
    bool attached;                      /* it shares the segment as its exporter does (claims.h) */
    struct rsmd_mailbox *records;       /* NULL: it keeps none */
    struct rsmd_grant *grant;           /* NULL: aborted, or the export is on another host */
    UT_hash_handle hh;                  /* by id */
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

#endif
