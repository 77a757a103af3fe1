/* SPDX-License-Identifier: BSD-3-Clause */
/** @file One client's socket: the identity of its process, its packets, its end. */
#ifndef RSMD_CONNECTION_H
#define RSMD_CONNECTION_H

#include "server/server.h"

struct rsmd_connection {
    struct rsmd_server *server;
    struct rsmd_client client;
    struct rsmd_seat seat;
    bool
        may_bring_fds; /* descriptors can be in its queue: the kernel has not always refused them */
    bool taken_in;     /* it has more than its socket: see rsmd_connection_begin() */
    bool dead;         /* its process has ended */
    int socket;
    int process; /* pidfd of the peer; -1: it is in another pid namespace */
    struct event *readable;
    struct event *died;
    gid_t *groups;
    int64_t greeting_until; /* when HELLO must have come, milliseconds of CLOCK_MONOTONIC */
    struct rsmd_connection *prev, *next;
    unsigned unread; /* descriptors in replies that the client has not read */
    void (*close_when_read)(struct rsmd_connection *connection); /* it has ended; else NULL */
    bool held;                                                   /* its next request waits */
    bool cleared; /* it has ended, and only jobs are left of it */
    struct rsmd_connection *unread_prev, *unread_next; /* while any are unread */
    struct rsmd_connection *held_prev, *held_next;
    struct rsmd_connection *silent_prev, *silent_next; /* while it has not sent HELLO */
};

/** Initialise, before any connection begins. False: no memory. */
bool rsmd_connections_init(struct rsmd_server *server);

/** Begin with an accepted socket. Only cheap work is done at once. The rest, a descriptor and
 *  several system calls, is done in the user's turn and counts as the user's time, and not at all
 *  if the connection has been closed by then. */
void rsmd_connection_begin(struct rsmd_server *server, int socket);

/** Resume a connection of the daemon's predecessor, whose client has sent HELLO as a process of
 *  @p node. The descriptors are taken in any case. NULL: it is not served any more, or no
 *  memory. */
struct rsmd_connection *rsmd_connection_resume(struct rsmd_server *server, int socket, int process,
                                               uint32_t node, bool may_bring_fds);

/** Serve what it has sent, and end it unless that was HELLO. */
void rsmd_connection_last_look(struct rsmd_connection *connection);

/** Close it and free all that the client had: see below. */
void rsmd_connection_end(struct rsmd_connection *connection);
/** Free it, when nothing of the client is left. */
void rsmd_connection_free(struct rsmd_connection *connection);

/** Of a client that is a process. */
struct rsmd_connection *rsmd_connection_of(struct rsmd_client *client);

/** The account of its user, which that of the connection is part of. */
static inline struct rsmd_account *rsmd_user_of(const struct rsmd_connection *connection)
{
    return connection->client.account->parent;
}

/* greeting.c:
 *
 * Connections that have not sent HELLO. Their users are not charged for them yet, so their number
 * is small. A connection beyond the limit replaces the oldest of its user, or of the user with
 * most. None may stay silent for longer than RSM_PROTO_GREETING_MS.
 */

/** The timer of the oldest silent connection, not yet running. NULL: no memory. */
struct event *rsmd_greeting_timer(struct rsmd_server *server);

/** Await the HELLO of a new connection. This may end others. */
void rsmd_greeting_await(struct rsmd_connection *connection);

/** It has sent HELLO, or ends. */
void rsmd_greeting_done(struct rsmd_connection *connection);

/* ending.c:
 *
 * Connections whose process has gone, until nothing of them is left. A client can have tens of
 * thousands of segments, so they are freed in slices. Threads free what takes long by itself. The
 * user stays charged until then.
 */

/** Initialise. False: no memory. */
bool rsmd_endings_init(struct rsmd_server *server, struct event_base *base);

/** End a connection: shut its socket down, read no more requests, and let no importer connect to
 *  its segments. It is freed later, perhaps before this returns. */
void rsmd_ending_begin(struct rsmd_connection *connection);

/** Free all of them without slices: the daemon ends. Waits at most @p max_ms milliseconds for
 *  threads. False: some jobs are not done; what they use must stay, and the process must end
 *  without cleaning up. */
bool rsmd_endings_finish(struct rsmd_server *server, unsigned max_ms);

/* unread.c:
 *
 * Descriptors in replies that clients have not read. The kernel counts them for the daemon's user,
 * and refuses to pass more when they exceed the daemon's RLIMIT_NOFILE: a client that sends
 * requests and reads no reply would cut off all others. So each user has a second share of the same
 * number for them. While a user exceeds it, that user's next requests wait.
 */

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
