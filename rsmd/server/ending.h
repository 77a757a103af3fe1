/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Connections whose process has gone, until nothing of them is left. A client can have tens of
 * thousands of segments, so they are freed in slices. Threads free what takes long by itself. The
 * user stays charged until then.
 */
#ifndef RSMD_ENDING_H
#define RSMD_ENDING_H

#include <stdbool.h>

struct event_base;
struct rsmd_client;
struct rsmd_connection;
struct rsmd_server;

/** Initialise. False: no memory. */
bool rsmd_endings_init(struct rsmd_server *server, struct event_base *base);

/** End a connection: shut its socket down, read no more requests, and let no importer connect to
 *  its segments. It is freed later, perhaps before this returns. */
void rsmd_ending_begin(struct rsmd_connection *connection);

/** Free all of them without slices: the daemon ends. Waits at most @p max_ms milliseconds for
 *  threads. False: some jobs are not done; what they use must stay, and the process must end
 *  without cleaning up. */
bool rsmd_endings_finish(struct rsmd_server *server, unsigned max_ms);

#endif
