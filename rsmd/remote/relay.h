/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Relays: event counters of rsmd that stand for the end of a connection on another host. A poster
 * uses one like any other counter, and requests rsmd to ring it. rsmd then forwards the events in
 * it: to an importer over the fabric, if the transport and the importer support it, else over the
 * cluster link.
 *
 * While a link does not keep up, or an importer does not take what the fabric brought, events wait
 * in their counter, where any number needs no memory.
 */
#ifndef RSMD_REMOTE_RELAY_H
#define RSMD_REMOTE_RELAY_H

#include "node/grants.h"

struct rsmd_relay;
struct rsmd_remote;

/** The target of a relay. */
struct rsmd_relay_target {
    struct rsmd_remote *remote;
    struct rsmd_account *account;   /* the importer's, which is charged */
    uint32_t end;                   /* RSM_EVENT_EXPORT, RSM_EVENT_IMPORT */
    uint32_t id;                    /* of the connection, as EVENT names it */
    const struct rsmd_grant *grant; /* of an importer: its offer may carry events over the fabric */
};

/** Make a relay if *relay is NULL, and make the counter for posters. RSM_ST_NO_RESOURCES,
 *  RSM_ST_NO_MEMORY. */
enum rsm_status rsmd_relay_need(struct rsmd_node *node, struct rsmd_relay **relay,
                                const struct rsmd_relay_target *target,
                                const struct rsmd_events **events);

/** Forward the events that were posted to it. False: there is no relay. As the functions below,
 *  harmless then. */
bool rsmd_relay_rung(struct rsmd_relay *relay);

/** The importer has taken what went to it over the fabric. */
void rsmd_relay_taken(struct rsmd_relay *relay);

/** Send by the link what the fabric has not delivered: the grant is about to be revoked. */
void rsmd_relay_leave_fabric(struct rsmd_relay *relay);

/** Forward by the link what has been posted so far: the connection ends. */
void rsmd_relay_flush(struct rsmd_relay *relay);

/** Close it; what is left in it is lost. */
void rsmd_relay_free(struct rsmd_relay **relay);

#endif
