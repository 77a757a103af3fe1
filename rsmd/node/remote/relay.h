/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Relays: event counters that belong to rsmd itself and stand for the end of a connection that is
 * on another host. Whoever posts treats one like any other counter, and asks rsmd to ring for it; rsmd
 * then sends on what it finds there: to an importer by the fabric, if the transport and the importer can,
 * else by the link between the daemons.
 *
 * While a link does not keep up, or an importer does not take what the fabric brought, events wait
 * in their counter, where any number takes no room.
 */
#ifndef RSMD_REMOTE_RELAY_H
#define RSMD_REMOTE_RELAY_H

#include "node/node.h"

/** Make the relay of a connection whose other end is on another host, if it has none, charged to
 *  the importer's account. RSM_ST_NO_RESOURCES, RSM_ST_NO_MEMORY. */
enum rsm_status rsmd_relay_need(struct rsmd_node *node, struct rsmd_import *import);

/** What posters get. The relay has been made. */
const struct rsmd_events *rsmd_relay_events(const struct rsmd_import *import);

/** Somebody has posted there. False: there is no relay. */
bool rsmd_relay_rung(struct rsmd_import *import);

/** The importer has taken what went to it by the fabric. Harmless without relay, as is what
 *  follows. */
void rsmd_relay_taken(struct rsmd_import *import);

/** The connection is about to be revoked: what the fabric has not delivered goes by the link. */
void rsmd_relay_leave_fabric(struct rsmd_import *import);

/** Send on what has been posted by now, by the link: the connection ends. */
void rsmd_relay_flush(struct rsmd_import *import);

/** Close it; what is left in it is lost. Harmless without relay. */
void rsmd_relay_free(struct rsmd_import *import);

#endif
