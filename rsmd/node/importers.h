/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Importers, as a node notes them: each has an id and a slot of the generation table, and its user
 * pays for one segment. An importer is a process of this host that connects through this node
 * (imports.h), or a process of another host that imports from here (remote/).
 */
#ifndef RSMD_IMPORTERS_H
#define RSMD_IMPORTERS_H

#include "node/node.h"

struct rsmd_importer;

/** What can be done to an importer, wherever it is. */
struct rsmd_importer_ops {
    /** Revoke its grant, with @p event for the exporter, and let the importer know. One on another
     *  host is freed by that. */
    void (*abort)(struct rsmd_node *node, struct rsmd_importer *importer,
                  enum rsm_record_event event);
    /** The fabric has lost it; it has a grant. */
    void (*lost)(struct rsmd_node *node, struct rsmd_importer *importer);
    /** Let it know that the segment has become unavailable. */
    void (*unavailable)(struct rsmd_node *node, struct rsmd_importer *importer);
    /** The counter through which the exporter posts to it. */
    enum rsm_status (*receiver)(struct rsmd_node *node, struct rsmd_importer *importer,
                                const struct rsmd_events **events);
    /** There is no such counter to be had, and it misses an event. False: it had to be aborted. */
    bool (*missed)(struct rsmd_node *node, struct rsmd_importer *importer);
    /** The exporter has posted to that counter. False: nobody wants to know. */
    bool (*ring)(struct rsmd_importer *importer);
    /** It has taken the events that went to it by the fabric. */
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
    struct rsmd_mailbox *records;       /* NULL: it asks for none */
    struct rsmd_grant *grant;           /* NULL: aborted, or the export is on another host */
    UT_hash_handle hh;                  /* by id */
};

/** Give it an id and a slot, and charge @p account. RSM_ST_NO_RESOURCES, RSM_ST_NO_MEMORY: it has
 *  none. */
enum rsm_status rsmd_importer_enter(struct rsmd_node *node, struct rsmd_importer *importer,
                                    struct rsmd_account *account);
/** The same for one of the daemon's predecessor, whose id and slot it keeps: the account is charged
 *  although it may be full. False: impossible, or no memory. */
bool rsmd_importer_resume(struct rsmd_node *node, struct rsmd_importer *importer,
                          struct rsmd_account *account);
/** Give all that back. Harmless for one that has not been entered. */
void rsmd_importer_leave(struct rsmd_node *node, struct rsmd_importer *importer);

/** NULL: there is none with that id. */
struct rsmd_importer *rsmd_importer_find(const struct rsmd_node *node, uint32_t id);

#endif
