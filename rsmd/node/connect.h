/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Connections to segments of this node, whoever wants them. */
#ifndef RSMD_CONNECT_H
#define RSMD_CONNECT_H

#include "node/node.h"

/** A connection wanted. */
struct rsmd_wanted {
    struct rsmd_client *client;      /* that will own it */
    struct rsmd_account *account;    /* that it is charged to */
    const struct rsmd_identity *who; /* the importing process */
    const char *controller;
    struct rsmd_segment_name name;
    uint32_t rights; /* RSM_RIGHT_* */
    bool attach;     /* as one of those who share it */
};

/**
 * Find the segment, decide whether this importer may have it and connect.
 * @param offer  filled on success; its descriptors are the caller's. None for a client of another
 *               host: RSM_ST_NO_ROUTE if the transport cannot do without.
 * @return RSM_ST_OK and *made; the order of refusals is that of rsm_memseg_import_connect(3RSM).
 */
enum rsm_status rsmd_connect(struct rsmd_node *node, const struct rsmd_wanted *wanted,
                             struct rsm_offer *offer, struct rsmd_import **made);

#endif
