/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Descriptors in replies that clients have not read. The kernel counts them for the daemon's user,
 * and refuses to pass more when they exceed the daemon's RLIMIT_NOFILE: a client that sends
 * requests and reads no reply would cut off all others. So each user has a second share of the same
 * number for them. While a user exceeds it, that user's next requests wait.
 */
#ifndef RSMD_UNREAD_H
#define RSMD_UNREAD_H

#include <stdbool.h>

struct event_base;
struct rsmd_connection;
struct rsmd_server;

/** False: no memory. */
bool rsmd_unread_init(struct rsmd_server *server, struct event_base *base);
/** Close the sockets that are kept for what their clients have not read. */
void rsmd_unread_finish(struct rsmd_server *server);

/** A reply with @p descriptors of them has been sent. */
void rsmd_unread_sent(struct rsmd_connection *connection, unsigned descriptors);

/** A predecessor of this daemon may have sent replies that are not read yet. */
void rsmd_unread_resume(struct rsmd_connection *connection);

/** Whether the connection's next request has to wait; HELLO does not. One that waits gets a turn
 *  when that may have changed. */
bool rsmd_unread_holds(struct rsmd_connection *connection);

/** The connection's turns are over. */
void rsmd_unread_leave(struct rsmd_connection *connection);

/** The connection ends, and its socket is to be closed. True: @p close_socket is called when the
 *  client has read or gone, for until then the descriptors count; false: it can be closed now. */
bool rsmd_unread_keeps(struct rsmd_connection *connection,
                       void (*close_socket)(struct rsmd_connection *connection));

#endif
