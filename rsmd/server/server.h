/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The event loop: accepts clients, serves them one packet at a time, ends in time. */
#pragma once

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
    void (*reload)(void *context); /* called at SIGHUP; NULL: it is ignored */
    void *reload_context;
    bool may_be_replaced; /* SIGUSR2 is handled; else it is ignored */
    bool replaced;        /* SIGUSR2 came */
    bool keeps_state;     /* SIGTERM leaves the clients' state to a successor */
    bool stored;          /* it came */
    struct event *unused; /* timer of an embedded node without clients */
    struct rsmd_fabric *fabric;
    int linger_ms;
    struct rsmd_turns turns;
    struct rsmd_connection *connections;
    struct rsmd_connection *ungreeted; /* those that have not sent HELLO, oldest first */
    uint32_t ungreeted_count;
    struct event *greeting_over; /* timer of the oldest */
    /* connections whose clients have gone, and something of theirs has not */
    struct rsmd_connection *ending;
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

/** Block the signals that end the daemon until it serves, so that it can remove what it has made by
 *  then. Must be called first. @p reloads: SIGHUP, too. */
void rsmd_server_hold_signals(bool reloads);

/**
 * Prepare to serve on @p listener, which the server owns then.
 * @param linger_ms  how long an embedded node stays without clients; negative: for ever.
 * @return false: out of memory or descriptors.
 */
bool rsmd_server_init(struct rsmd_server *server, struct rsmd_node *node, int listener,
                      int linger_ms);

/** Serve until a signal comes or the linger time is over. */
void rsmd_server_run(struct rsmd_server *server);

/**
 * Bring all to a state that can be handed over: end the links to other hosts and what used them,
 * wait a few seconds for threads, and end clients that use what cannot be handed over. Clients'
 * requests wait in their sockets from now on.
 */
void rsmd_server_settle(struct rsmd_server *server);

/** Stop accepting, drop all clients, which aborts their connections, and free the rest. The
 *  socket's name goes first: a late client must not find it. False: threads still use what clients
 *  had, and the process must end without cleaning up. */
bool rsmd_server_end(struct rsmd_server *server, struct rsmd_instance *instance);

/** Free the spare descriptor for a caller that needs one now. False: it is used up. No client is
 *  accepted until there is another. */
bool rsmd_server_use_spare(struct rsmd_server *server);

/** Count a connection that has sent HELLO, or one that had and has gone. */
void rsmd_server_greeted(struct rsmd_server *server, int change);
