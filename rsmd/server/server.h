/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The event loop: accepts clients, serves them one packet at a time, ends in time. */
#ifndef RSMD_SERVER_H
#define RSMD_SERVER_H

#include <event2/event.h>

#include "server/instance_lock.h"
#include "node/node.h"
#include "server/turns.h"

struct rsmd_connection;
struct rsmd_fabric;

struct rsmd_server {
    struct rsmd_node *node;
    struct event_base *base;
    int listener;
    int spare; /* a descriptor held so that an accepted client can have its pidfd; -1: used up */
    struct event *accepting;
    struct event *accept_again; /* timer, while there are no descriptors to accept with */
    int signals;                /* signalfd */
    struct event *signalled;
    void (*reload)(void *context); /* SIGHUP came; NULL: it is ignored */
    void *reload_context;
    bool may_be_replaced; /* SIGUSR2 counts; else it is ignored */
    bool replaced;        /* SIGUSR2 came */
    bool keeps_state;     /* SIGTERM leaves what clients have to a successor */
    bool stored;          /* it came */
    struct event *unused; /* timer of an embedded node: nobody is there */
    struct rsmd_fabric *fabric;
    int linger_ms;
    struct rsmd_turns turns;
    struct rsmd_connection *connections;
    struct rsmd_connection *ungreeted; /* those of them that have not said HELLO, oldest first */
    uint32_t ungreeted_count;
    struct event *greeting_over;    /* timer of the oldest */
    struct rsmd_connection *ending; /* whose clients have gone, and something of theirs has not */
    struct event *ending_goes_on;   /* timer */
    struct rsmd_connection *unread; /* whose clients have descriptors to read */
    uint64_t unread_count;          /* of these descriptors */
    struct rsmd_connection *held;   /* whose next requests wait for that */
    struct event *unread_timer;     /* looks at both */
    uint32_t greeted_count;
    struct rsm_msg request; /* the one in hand, and its reply */
    struct rsm_msg reply;
    uint8_t incoming[RSM_PROTO_MESSAGE_MAX];
    uint8_t outgoing[RSM_PROTO_MESSAGE_MAX];
};

/** Hold back the signals that end the daemon until it serves: whatever it has made by then is
 *  removed in order. To be called before anything is made. @p reloads: SIGHUP, too. */
void rsmd_server_hold_signals(bool reloads);

/**
 * Prepare to serve on @p listener, which becomes the server's.
 * @param linger_ms  an embedded node ends when it was unused for so long; negative: never ends.
 * @return false: out of memory or descriptors.
 */
bool rsmd_server_init(struct rsmd_server *server, struct rsmd_node *node, int listener,
                      int linger_ms);

/** Serve until a signal or disuse ends it. */
void rsmd_server_run(struct rsmd_server *server);

/**
 * Bring everything to a state that can be handed over: end the links to other hosts and what went
 * over them, wait for threads for a few seconds, and end the clients who use what cannot be handed
 * over. Clients' requests wait in their sockets from now on.
 */
void rsmd_server_settle(struct rsmd_server *server);

/** Accept nobody more, drop all clients (their connections are aborted) and free the rest. The
 *  socket's name goes first: a client that comes late must not find it. False: threads are still at
 *  what clients have left, so that the process has to end without tidying up. */
bool rsmd_server_end(struct rsmd_server *server, struct rsmd_instance *instance);

/** Free the spare descriptor for who needs one now. False: it is used up. Nobody is accepted until
 *  there is another. */
bool rsmd_server_use_spare(struct rsmd_server *server);

/** A connection has said HELLO, or one that had is gone. */
void rsmd_server_greeted(struct rsmd_server *server, int change);

#endif
