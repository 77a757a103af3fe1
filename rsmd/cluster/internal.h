/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the files of this folder share: links, and TCP connections that become links.
 *
 * Of two nodes the one with the lower id calls, the other one answers. So each pair makes at most
 * one connection at a time, nothing has to be decided when both start at once, and a restarted node
 * calls the higher ones and is called by the lower ones again. The price is that a higher node
 * waits until it is called: at most RSMD_RETRY_MAX_MS, the pause between two attempts.
 *
 * Links on demand (demand.c) are called by the end that needs them. If both call at once, the call
 * of the lower node counts: that node lets the other call wait until its own has succeeded or
 * failed, and the higher one drops its own as soon as it is called.
 *
 * The handshake, C being the caller and A the one that answers:
 *
 *     C -> A  HELLO   ids, versions, nonce
 *     A -> C  HELLO   the same; then REFUSE if the two do not fit
 *     C -> A  PROOF   C's credential. A checks it and C's address
 *     A -> C  PROOF   A's credential, which is made only then: a stranger gets none
 *     C -> A  PING    C has checked A's credential
 *     A -> C  PONG    the link is up: at A when it sends this, at C when this arrives
 *
 * Either end may send REFUSE with the reason instead of its next message.
 *
 * With auth = tls a TLS handshake comes before all of this, in which each end proves by a
 * certificate which node it is (tls.h). Both PROOFs are then empty.
 *
 * A connection is not freed from within its callbacks: one that must end is marked, and a reaper
 * frees it before the loop continues.
 */
#pragma once

#include <event2/event.h>

#include "cluster/tls.h"
#include "conf/address.h"
#include "common/complaints.h"
#include "cluster/cluster.h"
#include "cluster/proto.h"
#include "common/tables.h"
#include "common/worker.h"

struct rsmd_auth;
struct rsmd_auth_job;
struct rsmd_stream;

/* handshake.c:
 *
 * Decide by the two HELLOs whether two rsmds belong together. No state, no I/O.
 */

/** The attributes of this end. */
struct rsmd_self {
    uint32_t node;
    uint64_t incarnation;
    const struct rsmd_conf *conf;
    bool on_demand; /* links are: there are more nodes than permanent-links */
};

/** Fill this end's HELLO to node @p to, with a new nonce. False: no random numbers. */
bool rsmd_hello_make(const struct rsmd_self *self, uint32_t to, struct rsm_cluster_hello *hello);

/**
 * Judge the HELLO of the other end.
 * @param called   the node that this end has called; 0: this end was called.
 * @param version  receives the version to use, on success.
 * @param why      receives a sentence that both ends may log, of RSM_CLUSTER_TEXT_MAX bytes.
 * @return RSM_ST_OK, RSM_ST_VERSION, RSM_ST_DENIED (not to be a peer of this node), RSM_ST_INVALID
 *         (an error in the configuration of one end).
 */
enum rsm_status rsmd_hello_judge(const struct rsmd_self *self, uint32_t called,
                                 const struct rsm_cluster_hello *hello, uint32_t *version,
                                 char *why);

/** Make what came from a peer printable, in place. */
void rsmd_text_clean(char *text);

/* auth.c:
 *
 * How the rsmds of two hosts authenticate each other. A credential proves that a process of root or
 * of rsmd's user, on a host of this MUNGE realm, is this end of this connection. Threads make and
 * check credentials, because munged may be slow or hang.
 */

/** What a credential is bound to. Both nonces make it valid for one handshake. The two addresses of
 *  the TCP connection make it useless to an attacker that relays the messages of two nodes. */
struct rsmd_auth_claim {
    const struct rsm_cluster_hello *prover;
    const struct rsm_cluster_hello *verifier;
    const struct rsmd_address *prover_end;
    const struct rsmd_address *verifier_end;
};

/** The outcome, in the event loop. @p why is NULL on success, else a sentence that both ends may
 *  log; @p ours: this host failed. @p proof: the proof that was made; NULL after a check. */
typedef void rsmd_auth_done(void *context, const char *why, bool ours,
                            const struct rsm_cluster_proof *proof);

/** @p library: of MUNGE, RSMD_MUNGE_LIBRARY except in tests; @p conf must stay valid. NULL: @p why
 *  has the reason. */
struct rsmd_auth *rsmd_auth_start(struct event_base *base, const struct rsmd_conf *conf,
                                  const char *library, char *why, size_t why_size);
void rsmd_auth_end(struct rsmd_auth *auth);

/** Allow for the jobs of one more node. */
void rsmd_auth_widen(struct rsmd_auth *auth);

/** Make this end's proof, or check the peer's. @p done is called once: later, or, with auth = none
 *  and on failures, before this returns NULL. */
struct rsmd_auth_job *rsmd_auth_prove(struct rsmd_auth *auth, const struct rsmd_auth_claim *claim,
                                      rsmd_auth_done *done, void *context);
struct rsmd_auth_job *rsmd_auth_check(struct rsmd_auth *auth, const struct rsmd_auth_claim *claim,
                                      const struct rsm_cluster_proof *proof, rsmd_auth_done *done,
                                      void *context);

/** Cancel it: done() will not be called. */
void rsmd_auth_cancel(struct rsmd_auth_job *job);

/* stream.c:
 *
 * Messages over a non-blocking TCP socket. Buffers are bounded: one incoming frame,
 * RSMD_STREAM_QUEUE_MAX outgoing bytes.
 */

enum { RSMD_STREAM_QUEUE_MAX = 1 << 20 };

/** All called from the event loop. None may free the stream. */
struct rsmd_stream_user {
    void *context;
    /** The socket that was still connecting has connected. */
    void (*connected)(void *context);
    /** A frame within all bounds; *msg is valid until this returns. */
    void (*message)(void *context, const struct rsm_cluster_msg *msg);
    /** There will be no more; @p why is a sentence. Called once. */
    void (*ended)(void *context, const char *why);
};

/** Make a stream of a socket, which it owns. @p connecting: connect() is in progress. NULL: out of
 *  memory, and the socket is closed. */
struct rsmd_stream *rsmd_stream_new(struct event_base *base, int socket, bool connecting,
                                    const struct rsmd_stream_user *user);
/** Close it. The last messages go out as far as the kernel accepts them at once. */
void rsmd_stream_free(struct rsmd_stream *stream);

/** Go on with another socket, of which it does not read until rsmd_stream_resume(). Nothing may
 *  have been received or sent. The former socket is closed, without an end of the connection if
 *  others have it. False: out of memory, and the stream has ended. */
bool rsmd_stream_exchange(struct rsmd_stream *stream, int socket);

/** Its socket. */
int rsmd_stream_socket(const struct rsmd_stream *stream);

/** Queue a message. 0; -EMSGSIZE: it breaks its bounds; -ENOBUFS: there is no room; -EPIPE: the
 *  stream has ended. */
int rsmd_stream_send(struct rsmd_stream *stream, const struct rsm_cluster_msg *msg);

/** Bytes that the socket has carried. */
struct rsmd_stream_bytes {
    uint64_t sent, received;
};
struct rsmd_stream_bytes rsmd_stream_bytes(const struct rsmd_stream *stream);

/** Bytes that wait to go out. */
size_t rsmd_stream_queued(const struct rsmd_stream *stream);

/** Stop reading, or continue. */
void rsmd_stream_pause(struct rsmd_stream *stream);
void rsmd_stream_resume(struct rsmd_stream *stream);

/* Links and TCP connections. */

enum {
    /* Accepted connections that are not authenticated, beyond one of each calling node. */
    RSMD_STRANGERS_SPARE = 64,
    RSMD_HANDSHAKE_MS = 3000, /* for each step; or the peer time-out, if that is longer */
    RSMD_RETRY_MIN_MS = 100,  /* after the first failure; doubled with each */
    RSMD_RETRY_MAX_MS = 2000, /* with a jitter of a quarter */
    /* how long a caller is identified by the addresses that a name led to */
    RSMD_ADDRESSES_KEPT_MS = 60000,
    RSMD_STEADY_MS = 5000,          /* a link that was up for this time starts with no failures */
    RSMD_FAILURE_COUNTS_MS = 10000, /* how long a node on demand counts as out of reach */
    RSMD_PINGS_PER_TIMEOUT = 4,     /* one each quarter, from the caller */
    RSMD_TICKS_PER_TIMEOUT = 16,    /* how often the heartbeat is checked */
};

enum rsmd_phase {
    RSMD_PHASE_CONNECTING, /* caller: TCP is connecting */
    RSMD_PHASE_ENCRYPTING, /* auth = tls: the handshake of TLS */
    RSMD_PHASE_HELLO,      /* the peer's HELLO is awaited */
    RSMD_PHASE_MAKING,     /* the local credential is made */
    RSMD_PHASE_PROOF,      /* the peer's PROOF is awaited */
    RSMD_PHASE_CHECKING,   /* the peer's credential is checked */
    RSMD_PHASE_LOOKING_UP, /* the caller's name is looked up */
    RSMD_PHASE_CONFIRM,    /* caller: PONG is awaited; the other: PING */
    RSMD_PHASE_RIVAL,      /* authenticated, but the node has a link: wait whether that answers */
    RSMD_PHASE_UP,
    RSMD_PHASE_OVER, /* to be reaped */
};

/** One TCP connection. */
struct rsmd_tcp {
    struct rsmd_cluster *cluster;
    struct rsmd_link *link; /* NULL: accepted, and its node is not known yet */
    enum rsmd_phase phase;
    bool caller;
    struct rsmd_stream *stream;
    struct event *deadline; /* of the handshake */
    struct rsmd_auth_job *job;
    struct resolution *resolution; /* look-up of the name of the caller's node */
    struct rsmd_caller_host *host; /* of a stranger */
    struct rsmd_address here, there;
    char there_text[RSMD_ADDRESS_TEXT_BYTES]; /* with the port if this end called */
    struct rsm_cluster_hello mine, theirs;
    uint32_t version;
    int64_t up_since, pinged_at, answered_at; /* milliseconds */
    uint64_t ping, answered;                  /* numbers of PINGs, ascending */
    uint64_t last_ping;                       /* number of the other end's last PING */
    uint64_t probe;               /* a PONG of this number or later decides on a rival */
    struct rsmd_tcp *prev, *next; /* of the strangers */
    struct rsmd_tcp *over_next;   /* to be reaped */
    bool proved;                  /* a stranger's credential is valid; its address may be wrong */
    uint64_t tls_id;              /* its number at rsm-tlsd; 0: that does not have it */
    uint32_t tls_node;            /* the node that the other end's certificate names */
    uint64_t tls_expires;         /* when that expires, seconds since 1970 */
    UT_hash_handle tls_hh;
    bool quotes; /* the reason of its end is quoted from the other end */
    bool unused; /* both ends have agreed to close it */
};

/** The link between this node and another one. */
struct rsmd_link {
    struct rsmd_cluster *cluster;
    const struct rsmd_conf_node *node;
    struct rsmd_tcp *up;
    struct rsmd_tcp *calling;
    struct rsmd_tcp *rival;
    bool up_reported; /* up() was called */
    bool silent;      /* the other end does not answer, which was reported */
    bool neighbour;
    struct event *retry;
    struct resolution *resolution;   /* look-up of the name */
    struct resolution *asked;        /* the same, for rsmd_link_has_address() */
    struct rsmd_addresses *known;    /* its result; NULL: none yet */
    int64_t asked_at;                /* time of the last look-up, milliseconds; 0: never */
    unsigned failures;               /* in a row */
    unsigned address;                /* which of the name's is next */
    unsigned addresses;              /* how many it had at the last attempt; 0: not known */
    bool wanted;                     /* on demand: requests wait for it */
    unsigned attempts;               /* on demand: that have failed since it is wanted */
    bool idle_asked;                 /* on demand: the other end is asked whether to close it */
    int64_t used_at;                 /* on demand: when it was last in use, milliseconds */
    char text[RSM_CLUSTER_TEXT_MAX]; /* of the last failure */
    int64_t failed_at;               /* when that was, milliseconds */
    struct rsmd_stream_bytes before; /* carried by earlier TCP connections of the link */
    struct rsmd_complaints complaints;
    struct rsmd_bucket log; /* bounds the log lines that the other daemon causes */
};

/** Whether messages go through it. A connection that is over is reported as down one turn later. */
static inline bool rsmd_link_is_up(const struct rsmd_link *link)
{
    return link->up != NULL && link->up->phase == RSMD_PHASE_UP;
}

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
    struct rsmd_tls *tls; /* NULL: auth is not tls */
    struct rsmd_worker *resolver;
    struct rsmd_addresses own; /* the addresses to call from; empty: not known yet */
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

/* cluster.c */

/** The link to a node; NULL: there is none. */
struct rsmd_link *rsmd_link_to(const struct rsmd_cluster *cluster, uint32_t node);

/* demand.c */

/** Whether this end has to call if the link is not up: on demand if that is in use or needed, else
 *  at the lower node. */
bool rsmd_link_is_due(const struct rsmd_link *link);
/** The number of links, or permanent-links, may have changed. */
void rsmd_demand_decide(struct rsmd_cluster *cluster);
/** The link has come up, and that was reported. */
void rsmd_demand_up(struct rsmd_link *link);
/** The link has been closed because neither end used it: call at once if it is needed again. */
void rsmd_demand_closed(struct rsmd_link *link);
/** An attempt to call has failed. */
void rsmd_demand_failed(struct rsmd_link *link);
/** Whether the last attempt has failed, not long ago. */
bool rsmd_link_has_failed(const struct rsmd_link *link);
/** Of a link that is up: ask whether to close it, if it is not used. */
void rsmd_demand_tick(struct rsmd_link *link, int64_t now);
/** Take the other end's IDLE. */
void rsmd_demand_take(struct rsmd_link *link, const struct rsm_cluster_idle *idle);

/* resolve.c */

/** Called in the event loop with the addresses, or with the reason why there are none. */
typedef void resolved(void *context, const struct rsmd_addresses *found, const char *why);
/** Find a node's addresses. The callback comes before this returns for numeric addresses, later for
 *  names. NULL: it has been called. */
struct resolution *rsmd_resolve(struct rsmd_cluster *cluster, const struct rsmd_conf_node *node,
                                resolved *done, void *context);
void rsmd_resolve_cancel(struct resolution *resolution);

/* listener.c */

/** Listen at the local node's address, now or as soon as that is possible. */
bool rsmd_listener_start(struct rsmd_cluster *cluster);
/** The same, or allow for more callers if it listens already. */
bool rsmd_listener_widen(struct rsmd_cluster *cluster);
void rsmd_listener_stop(struct rsmd_cluster *cluster);
/** Count an accepted connection among the strangers. False: out of memory. */
bool rsmd_listener_keep(struct rsmd_tcp *conn);
/** Remove a connection from the strangers: it has become a link's, or is over. */
void rsmd_listener_release(struct rsmd_tcp *conn);

/* tcp.c */

/** Make a connection of a socket that is accepted, or connecting to a link's node. NULL: failed,
 *  and the socket is closed. */
struct rsmd_tcp *rsmd_tcp_accepted(struct rsmd_cluster *cluster, int socket,
                                   const struct rsmd_address *from);
struct rsmd_tcp *rsmd_tcp_called(struct rsmd_link *link, int socket, const struct rsmd_address *to);
/** An accepted one is among the strangers: begin its handshake. */
void rsmd_tcp_welcome(struct rsmd_tcp *conn);
/** Mark it as over. The link, or the log of strangers, gets the reason. */
void rsmd_tcp_end(struct rsmd_tcp *conn, const char *why);
/** The same, after sending the reason to the peer. */
void rsmd_tcp_refuse(struct rsmd_tcp *conn, enum rsm_status status, const char *why);
/** The link is up: answer the first PING, or continue after the first PONG. */
void rsmd_tcp_begin(struct rsmd_tcp *conn);
/** Send a PING. False: the connection is over. */
bool rsmd_tcp_ping(struct rsmd_tcp *conn);
/** Send a message. False: the connection is over. */
bool rsmd_tcp_send(struct rsmd_tcp *conn, const struct rsm_cluster_msg *msg);
/** Enter a phase with a time limit. False: there is no timer. */
bool rsmd_tcp_enter(struct rsmd_tcp *conn, enum rsmd_phase phase);
void rsmd_tcp_out_of_turn(struct rsmd_tcp *conn);
/** Restart the time limit of its phase. */
void rsmd_tcp_restart_timer(struct rsmd_tcp *conn);
void rsmd_tcp_free(struct rsmd_tcp *conn);
/** The handshake of TLS is done: the other end is @p node, by a certificate that is valid. */
void rsmd_tcp_encrypted(struct rsmd_tcp *conn, uint32_t node, uint64_t expires);
/** It has failed, or the connection has ended. @p node: what the other end claims to be;
 *  0: nothing. */
void rsmd_tcp_not_encrypted(struct rsmd_tcp *conn, uint32_t node, const char *why);

/* greeting.c: the messages of a connection that is not up */

bool rsmd_tcp_send_hello(struct rsmd_tcp *conn, uint32_t to);
void rsmd_tcp_take_hello(struct rsmd_tcp *conn, const struct rsm_cluster_hello *hello);
void rsmd_tcp_take_proof(struct rsmd_tcp *conn, const struct rsm_cluster_proof *proof);
/** The last step: see above. */
void rsmd_tcp_take_confirmation(struct rsmd_tcp *conn, const struct rsm_cluster_msg *msg);

/* link.c */

struct rsmd_link *rsmd_link_new(struct rsmd_cluster *cluster, const struct rsmd_conf_node *node);
void rsmd_link_free(struct rsmd_link *link);
/** Adopt a connection whose ends are authenticated. */
void rsmd_link_adopt(struct rsmd_link *link, struct rsmd_tcp *conn);
/** Give the link to a connection that waits for the end of the former one, if that is over. */
void rsmd_link_proceed(struct rsmd_link *link);
/** Whether this end has another connection with the same daemon, which is up or about to be. */
bool rsmd_link_has_other(const struct rsmd_link *link, const struct rsmd_tcp *conn);
/** The other end of the connection that is up has not answered for long, or answers. */
void rsmd_link_set_silent(struct rsmd_link *link, bool silent);
/** A PONG came on the connection that is up. */
void rsmd_link_answered(struct rsmd_link *link);
/** A connection of the link is over. Called by the reaper. */
void rsmd_link_lost(struct rsmd_link *link, struct rsmd_tcp *conn);
/** Keep the reason of a failure, and log it unless it was logged. */
void rsmd_link_note(struct rsmd_link *link, const char *why);
/** Keep it without logging. */
void rsmd_link_remember(struct rsmd_link *link, const char *why);
/** Its node is elsewhere now: what was known of the former address is forgotten. */
void rsmd_link_moved(struct rsmd_link *link);

/** Whether an address is known as one of the node's. Starts the look-up of a name for the next
 *  time, once in RSMD_ADDRESSES_KEPT_MS. */
bool rsmd_link_has_address(struct rsmd_link *link, const struct rsmd_address *address);
/** Check the heartbeat. @p deaf: milliseconds since the last tick in which this daemon was not
 *  scheduled; they do not count against the peer. */
void rsmd_link_tick(struct rsmd_link *link, int64_t now, int64_t deaf);
