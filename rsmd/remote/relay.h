/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Relays: event counters that belong to rsmd itself and stand for the end of a connection that is
 * on another host. Whoever posts treats one like any other counter, and asks rsmd to ring for it;
 * rsmd then sends on what it finds there: to an importer by the fabric, if the transport and the
 * importer can, else by the link between the daemons.
 *
 * While a link does not keep up, or an importer does not take what the fabric brought, events wait
 * in their counter, where any number takes no room.
 */
#ifndef RSMD_REMOTE_RELAY_H
#define RSMD_REMOTE_RELAY_H

#include "node/grants.h"

struct rsmd_relay;
struct rsmd_remote;

/** Where a relay leads. */
struct rsmd_relay_target {
    struct rsmd_remote *remote;
    struct rsmd_account *account;   /* the importer's, which pays */
    uint32_t end;                   /* RSM_EVENT_EXPORT, RSM_EVENT_IMPORT */
    uint32_t id;                    /* of the connection, as EVENT names it */
    const struct rsmd_grant *grant; /* of an importer: the fabric may carry events by its offer */
};

/** Make a relay if *relay is NULL, and find the counter that posters get. RSM_ST_NO_RESOURCES,
 *  RSM_ST_NO_MEMORY. */
enum rsm_status rsmd_relay_need(struct rsmd_node *node, struct rsmd_relay **relay,
                                const struct rsmd_relay_target *target,
                                const struct rsmd_events **events);

/** Somebody has posted there. Harmless without relay, as is what follows: false. */
bool rsmd_relay_rung(struct rsmd_relay *relay);

/** The importer has taken what went to it by the fabric. */
void rsmd_relay_taken(struct rsmd_relay *relay);

/** The grant is about to be revoked: what the fabric has not delivered goes by the link. */
void rsmd_relay_leave_fabric(struct rsmd_relay *relay);

/** Send on what has been posted by now, by the link: the connection ends. */
void rsmd_relay_flush(struct rsmd_relay *relay);

/** Close it; what is left in it is lost. */
void rsmd_relay_free(struct rsmd_relay **relay);

#endif
