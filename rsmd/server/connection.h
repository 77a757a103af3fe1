/* SPDX-License-Identifier: BSD-3-Clause */
/** @file One client's socket: who is behind it, its packets, its end. */
#ifndef RSMD_CONNECTION_H
#define RSMD_CONNECTION_H

#include "server/server.h"

struct rsmd_connection {
    struct rsmd_server *server;
    struct rsmd_client client;
    struct rsmd_seat seat;
    bool
        may_bring_fds; /* descriptors can be in its queue: the kernel has not always refused them */
    bool taken_in;     /* it costs more than its socket: see rsmd_connection_begin() */
    bool dead;         /* its process has ended */
    int socket;
    int process; /* pidfd of the peer; -1: it is in a place that we cannot see */
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
    struct rsmd_connection *silent_prev, *silent_next; /* while it has not said HELLO */
};

/** Before any connection begins. False: no memory. */
bool rsmd_connections_init(struct rsmd_server *server);

/** Begin with an accepted socket. Only what is cheap is done at once; the rest, which costs a
 *  descriptor and several system calls, is done when it is the turn of its user, and for his time,
 *  and not at all for one that has been closed by then. */
void rsmd_connection_begin(struct rsmd_server *server, int socket);

/** Take in one of the daemon's predecessor, whose client has said HELLO as a process of @p node.
 *  The descriptors are the connection's in any case. NULL: it is not served any more, or there is
 *  no memory. */
struct rsmd_connection *rsmd_connection_resume(struct rsmd_server *server, int socket, int process,
                                               uint32_t node, bool may_bring_fds);

/** Serve what it has sent, if it has, and end it unless that was HELLO. */
void rsmd_connection_last_look(struct rsmd_connection *connection);

/** Close it and give up everything the client had: see ending.h. */
void rsmd_connection_end(struct rsmd_connection *connection);
/** Nothing of the client is left. */
void rsmd_connection_free(struct rsmd_connection *connection);

/** Of a client that is a process. */
struct rsmd_connection *rsmd_connection_of(struct rsmd_client *client);

#endif
