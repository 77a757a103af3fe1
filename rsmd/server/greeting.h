/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Connections that have not said HELLO. They cost their user nothing yet, so there are few: one
 * too many pushes out the oldest of its own user, or of the user who has most, and none may stay
 * silent for longer than RSM_PROTO_GREETING_MS.
 */
#ifndef RSMD_GREETING_H
#define RSMD_GREETING_H

#include "server/connection.h"

/** The timer of the oldest silent connection, not yet running. NULL: no memory. */
struct event *rsmd_greeting_timer(struct rsmd_server *server);

/** A new connection is to greet. Others may be ended. */
void rsmd_greeting_await(struct rsmd_connection *connection);

/** It has greeted, or ends without. */
void rsmd_greeting_done(struct rsmd_connection *connection);

#endif
