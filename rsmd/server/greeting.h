/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Connections that have not sent HELLO. Their users are not charged for them yet, so their number
 * is small. A connection beyond the limit replaces the oldest of its user, or of the user with
 * most. None may stay silent for longer than RSM_PROTO_GREETING_MS.
 */
#ifndef RSMD_GREETING_H
#define RSMD_GREETING_H

#include "server/connection.h"

/** The timer of the oldest silent connection, not yet running. NULL: no memory. */
struct event *rsmd_greeting_timer(struct rsmd_server *server);

/** Await the HELLO of a new connection. This may end others. */
void rsmd_greeting_await(struct rsmd_connection *connection);

/** It has sent HELLO, or ends. */
void rsmd_greeting_done(struct rsmd_connection *connection);

#endif
