/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the files of this folder share: the links, and the connections that become links.
 *
 * Of two nodes the one with the lower id calls, the other one answers. So there is one connection
 * at most in the making for each pair, nothing to decide when both start at once, and a node that
 * was restarted calls the higher ones and is called by the lower ones again. The price is that a
 * higher node waits until it is called: the pause between two attempts, RSMD_RETRY_MAX_MS, at
 * most.
 *
 * A handshake, C being the caller and A the one that answers:
 *
 *     C -> A  HELLO          who is there, versions, nonce
 *     A -> C  HELLO
 *     C -> A  PROOF          A checks it; a stranger costs A no credential of its own, and gets
 * none A -> C  PROOF          C checks it C -> A  PING           C is content A -> C  PONG A is,
 * and the link is up: for A when it sends this, for C on receipt
 *
 * Nothing is freed from within its own callbacks: a connection that must end is marked, and a
 * reaper takes it away before the loop goes on.
 */
#ifndef RSMD_CLUSTER_INTERNAL_H
#define RSMD_CLUSTER_INTERNAL_H

#include <event2/event.h>

#include "conf/address.h"
#include "cluster/auth.h"
#include "common/complaints.h"
#include "cluster/handshake.h"
#include "cluster/cluster.h"
#include "cluster/stream.h"
#include "common/tables.h"
#include "common/worker.h"

enum {
    /* Connections that were accepted and not authenticated, beyond one of each node that calls. */
    RSMD_STRANGERS_SPARE = 64,
    RSMD_HANDSHAKE_MS = 3000,       /* or the peer timeout, if that is longer: for each step */
    RSMD_RETRY_MIN_MS = 100,        /* after the first failure; doubled with each */
    RSMD_RETRY_MAX_MS = 2000,       /* but for jitter of a quarter */
    RSMD_ADDRESSES_KEPT_MS = 60000, /* what a name led to tells so long who calls from there */
    RSMD_STEADY_MS = 5000,          /* a link that was up for so long had no failures before */
    RSMD_PINGS_PER_TIMEOUT = 4,     /* one each quarter, from the caller */
    RSMD_TICKS_PER_TIMEOUT = 16,    /* how often we look */
};

enum rsmd_phase {
    RSMD_PHASE_CONNECTING, /* caller: TCP is at it */
    RSMD_PHASE_HELLO,      /* the peer's HELLO is awaited */
    RSMD_PHASE_MAKING,     /* own credential */
    RSMD_PHASE_PROOF,      /* the peer's PROOF is awaited */
    RSMD_PHASE_CHECKING,   /* the peer's credential */
    RSMD_PHASE_LOOKING_UP, /* the addresses that the caller may have */
    RSMD_PHASE_CONFIRM,    /* caller: PONG is awaited; the other: PING */
    RSMD_PHASE_RIVAL,      /* authenticated, but the node has a link: is that alive? */
    RSMD_PHASE_UP,
    RSMD_PHASE_OVER, /* to be reaped */
};

/** One TCP connection. */
struct rsmd_tcp {
    struct rsmd_cluster *cluster;
    struct rsmd_link *link; /* NULL: accepted, and not known yet whose it is */
    enum rsmd_phase phase;
    bool caller;
    struct rsmd_stream *stream;
    struct event *deadline; /* of the handshake */
    struct rsmd_auth_job *job;
    struct resolution *resolution; /* the name of the caller's node is being looked up */
    struct rsmd_caller_host *host; /* of a stranger */
    struct rsmd_address here, there;
    char there_text[RSMD_ADDRESS_TEXT_BYTES]; /* with the port if we called it */
    struct rsm_cluster_hello mine, theirs;
    uint32_t version;
    int64_t up_since, pinged_at, answered_at; /* milliseconds */
    uint64_t ping, answered;                  /* numbers, ascending */
    uint64_t last_ping;                       /* number of the other end's last PING */
    uint64_t probe;               /* a PONG of this number or later decides on a rival */
    struct rsmd_tcp *prev, *next; /* of the strangers */
    struct rsmd_tcp *over_next;   /* to be reaped */
    bool proved;                  /* a stranger's credential is valid; his address may be wrong */
    bool quotes;                  /* the reason of its end is in the words of the other end */
};

/** What connects this node with one other. */
struct rsmd_link {
    struct rsmd_cluster *cluster;
    const struct rsmd_conf_node *node;
    struct rsmd_tcp *up;
    struct rsmd_tcp *calling;
    struct rsmd_tcp *rival;
    bool up_reported; /* the user has been */
    bool neighbour;
    struct event *retry;
    struct resolution *resolution;   /* the name is being looked up */
    struct resolution *asked;        /* the same, for rsmd_link_has_address() */
    struct rsmd_addresses *known;    /* what that found; NULL: nothing yet */
    int64_t asked_at;                /* when it asked last, milliseconds; 0: never */
    unsigned failures;               /* in a row */
    unsigned address;                /* which of the name's is next */
    char text[RSM_CLUSTER_TEXT_MAX]; /* of the last failure */
    int64_t failed_at;               /* when that was, milliseconds */
    struct rsmd_stream_bytes before; /* carried by TCP connections that were the link */
    struct rsmd_complaints complaints;
    struct rsmd_bucket log; /* bounds what the other daemon makes us log */
};

/** A host from which strangers have connected. */
struct rsmd_caller_host {
    char text[RSMD_ADDRESS_TEXT_BYTES]; /* its address, without a port */
    unsigned count;                     /* of its strangers */
    UT_hash_handle hh;
};

struct rsmd_listener {
    int socket; /* -1: not open */
    struct event *accepting;
    struct event *again;
    struct resolution *resolution;
    struct rsmd_tcp *strangers;
    unsigned stranger_count, strangers_max;
    struct rsmd_caller_host *hosts;
    char text[RSM_CLUSTER_TEXT_MAX]; /* why it is not open */
    struct rsmd_complaints complaints;
};

struct rsmd_cluster {
    struct event_base *base;
    struct rsmd_self self;
    struct rsmd_cluster_user user;
    rsmd_cluster_is_same_host *is_neighbour;
    void *neighbour_context;
    struct rsmd_auth *auth;
    struct rsmd_worker *resolver;
    struct rsmd_addresses own; /* from which to call; empty: not known yet */
    struct resolution *own_resolution;
    struct rsmd_listener listener;
    struct rsmd_link **links; /* to each other node that has an address, ascending by id */
    uint32_t link_count;
    struct event *tick;
    int64_t ticked_at;
    struct event *reaper;
    struct rsmd_tcp *over;
    struct rsmd_bucket strangers_log;
};

/** rsmd_cluster_start() with another library for MUNGE than RSMD_MUNGE_LIBRARY, for tests. */
struct rsmd_cluster *rsmd_cluster_start_with(struct event_base *base, const struct rsmd_conf *conf,
                                             uint32_t own, const struct rsmd_cluster_user *user,
                                             const char *library, char *why, size_t why_size);

/* cluster.c */

/** The link to a node; NULL: there is none. */
struct rsmd_link *rsmd_link_to(const struct rsmd_cluster *cluster, uint32_t node);

/* resolve.c */

/** Called in the event loop with the addresses, or with why there are none. */
typedef void resolved(void *context, const struct rsmd_addresses *found, const char *why);
/** Find a node's addresses: those written as such at once, before this returns; names later.
 *  NULL: it was called already, or with a failure. */
struct resolution *rsmd_resolve(struct rsmd_cluster *cluster, const struct rsmd_conf_node *node,
                                resolved *done, void *context);
void rsmd_resolve_cancel(struct resolution *resolution);

/* listener.c */

/** Listen at the own node's address, now or as soon as that is possible. */
bool rsmd_listener_start(struct rsmd_cluster *cluster);
/** The same, or let more nodes call if that was done already. */
bool rsmd_listener_widen(struct rsmd_cluster *cluster);
void rsmd_listener_stop(struct rsmd_cluster *cluster);
/** Count an accepted connection among the strangers. False: out of memory. */
bool rsmd_listener_keep(struct rsmd_tcp *conn);
/** A connection is no stranger any more: it has become a link's, or is over. */
void rsmd_listener_release(struct rsmd_tcp *conn);

/* tcp.c */

/** A connection to be: the socket is accepted, or connecting to a link's node. NULL: it could not
 *  be made, and the socket is closed. */
struct rsmd_tcp *rsmd_tcp_accepted(struct rsmd_cluster *cluster, int socket,
                                   const struct rsmd_address *from);
struct rsmd_tcp *rsmd_tcp_called(struct rsmd_link *link, int socket, const struct rsmd_address *to);
/** Mark it as over; the link, or the log of strangers, is told why. */
void rsmd_tcp_end(struct rsmd_tcp *conn, const char *why);
/** Tell the peer why, and then the same. */
void rsmd_tcp_refuse(struct rsmd_tcp *conn, enum rsm_status status, const char *why);
/** The link is up: answer the first PING, or go on after the first PONG. */
void rsmd_tcp_begin(struct rsmd_tcp *conn);
/** Send a PING. False: the connection is over. */
bool rsmd_tcp_ping(struct rsmd_tcp *conn);
/** Begin the time of its phase anew. */
void rsmd_tcp_restart_timer(struct rsmd_tcp *conn);
void rsmd_tcp_free(struct rsmd_tcp *conn);

/* link.c */

struct rsmd_link *rsmd_link_new(struct rsmd_cluster *cluster, const struct rsmd_conf_node *node);
void rsmd_link_free(struct rsmd_link *link);
/** A connection of this link, both ends authenticated. */
void rsmd_link_adopt(struct rsmd_link *link, struct rsmd_tcp *conn);
/** Let a connection have the link that waits for the end of the former one, if that is over. */
void rsmd_link_proceed(struct rsmd_link *link);
/** A PONG came on the connection that is up. */
void rsmd_link_answered(struct rsmd_link *link);
/** A connection of the link is over. Called by the reaper. */
void rsmd_link_lost(struct rsmd_link *link, struct rsmd_tcp *conn);
/** Keep the reason of a failure, and log it unless that was done. */
void rsmd_link_note(struct rsmd_link *link, const char *why);
/** Remember it without a word in the log. */
void rsmd_link_remember(struct rsmd_link *link, const char *why);
/** Whether an address is one of the node's, as far as that is known now. A name is looked up for
 *  the next time, once in RSMD_ADDRESSES_KEPT_MS. */
bool rsmd_link_has_address(struct rsmd_link *link, const struct rsmd_address *address);
/** Look after the heartbeat. For @p deaf of the milliseconds since the last tick this daemon had no
 *  turn: who answered then was not heard, and is not to blame. */
void rsmd_link_tick(struct rsmd_link *link, int64_t now, int64_t deaf);

#endif
