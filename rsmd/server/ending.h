/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Connections whose process has gone, until nothing of theirs is left. What they had is freed a
 * little at a time, for a client can have tens of thousands of segments; what takes long by itself
 * is freed by threads. All of it counts against its user until then.
 */
#ifndef RSMD_ENDING_H
#define RSMD_ENDING_H

#include <stdbool.h>

struct event_base;
struct rsmd_client;
struct rsmd_connection;
struct rsmd_server;

/** False: no memory. */
bool rsmd_endings_init(struct rsmd_server *server, struct event_base *base);

/** The connection ends: its client is told, asks nothing any more, and nobody connects to its
 *  segments. It is freed by and by, perhaps before this returns. */
void rsmd_ending_begin(struct rsmd_connection *connection);

/** Free what all of them have left, without regard to others: the daemon ends. Jobs that take
 *  longer than @p max_ms milliseconds are not waited for. False: some are not done, so that what
 *  they use cannot be given up, nor threads be relied upon to end with the process in order. */
bool rsmd_endings_finish(struct rsmd_server *server, unsigned max_ms);

#endif
