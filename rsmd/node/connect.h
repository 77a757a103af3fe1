/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Connections to segments of this node, of importers here and on other hosts. */
#ifndef RSMD_CONNECT_H
#define RSMD_CONNECT_H

#include "node/grants.h"

/** A request for a connection. */
struct rsmd_wanted {
    uint32_t node;                   /* of the importing process */
    bool local;                      /* that process is on this host */
    struct rsmd_account *account;    /* that is charged for it */
    const struct rsmd_identity *who; /* the importing process */
    const char *controller;
    struct rsmd_segment_name name;
    uint32_t rights; /* RSM_RIGHT_* */
    bool attach;     /* attach, sharing the segment */
    const struct rsmd_asked *asked;
};

/**
 * Find the segment, decide whether this importer may connect, and connect it.
 * @param importer  has only its operations and its exporter's node; on success it is entered and
 *                  has a grant.
 * @param offer     filled on success; its descriptors are the caller's. None for a client of
 *                  another host: RSM_ST_NO_ROUTE if the transport cannot do without.
 * @return RSM_ST_OK; the order of refusals is that of rsm_memseg_import_connect(3RSM).
 */
enum rsm_status rsmd_connect(struct rsmd_node *node, const struct rsmd_wanted *wanted,
                             struct rsmd_importer *importer, struct rsm_offer *offer);

/** Whether the offer of a grant ends only when the importer's node has released it. */
bool rsmd_grant_is_released(const struct rsmd_grant *grant);

#endif
