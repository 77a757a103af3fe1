/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Grants: connections at the exporter's side, what an export has given to one importer. */
#ifndef RSMD_GRANTS_H
#define RSMD_GRANTS_H

#include "node/imports.h"

/** The resources of this process that an offer uses (struct rsm_node_offer). */
struct rsmd_offer_price {
    uint32_t descriptors, threads;
};

struct rsmd_grant {
    struct rsmd_importer *importer;
    struct rsmd_export *exported;
    struct rsmd_controller *by; /* whose port made the offer */
    struct rsm_node_offer *made;
    struct rsmd_offer_price price; /* of `made`, charged to the importer's account */
    struct rsmd_pieces *pieces;
    uint32_t notices;               /* how many of the export's notices the importer has got */
    struct rsmd_grant *prev, *next; /* of the export */
    UT_hash_handle hh_made;         /* by made, if its port has events */
};

/** Connect an entered importer: add the grant, which has importer, export and offer, to the export.
 *  The export then owns the grant, and the grant the offer. RSM_ST_NO_MEMORY; RSM_ST_NO_RESOURCES:
 *  the importer's share does not cover the offer. */
enum rsm_status rsmd_grant_join(struct rsmd_node *node, struct rsmd_grant *grant);
/** The same for a grant of the daemon's predecessor that has its pieces. False: no memory. */
bool rsmd_grant_rejoin(struct rsmd_node *node, struct rsmd_grant *grant);

/** End the connection: the grant is freed, and the offer is revoked or begins to end (revokes.h).
 *  The exporter gets a record when it has ended. */
void rsmd_grant_revoke(struct rsmd_node *node, struct rsmd_grant *grant,
                       enum rsm_record_event event);

/** Deliver @p count signals of the importer that came over the fabric. */
void rsmd_grant_signalled(struct rsmd_node *node, const struct rsmd_grant *grant, uint32_t count,
                          bool coalesced);

/** Find the grant of an offer of a port with events; NULL: there is none. */
struct rsmd_grant *rsmd_grant_offered(const struct rsmd_node *node,
                                      const struct rsm_node_offer *made);

/** What rsmstat shows of the export. */
void rsmd_grant_about(const struct rsmd_grant *grant, struct rsm_inspect_item *item);

/** Whether a user other than its owner has a connection to the export. */
bool rsmd_export_has_guest(const struct rsmd_node *node, const struct rsmd_export *exported,
                           uid_t uid);

#endif
