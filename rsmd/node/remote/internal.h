/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Segments across hosts from the inside. */
#ifndef RSMD_REMOTE_INTERNAL_H
#define RSMD_REMOTE_INTERNAL_H

#include "node/remote/remote.h"

struct event;

/** A request of a client of ours that a remote node has not answered yet. */
struct rsmd_forward {
    struct rsmd_node *node;
    struct rsmd_remote *remote;
    struct rsmd_client *client;
    struct rsmd_controller *controller;
    struct rsm_importer importer;
    uint32_t request;  /* as the remote node is to name it */
    uint32_t type;     /* of the client's message: RSM_MSG_IMPORT_CONNECT, RSM_MSG_INTERRUPT_* */
    uint32_t sequence; /* of the client's message */
    struct rsmd_segment_name name;
    uint32_t rights;
    struct event *late;                             /* the remote node does not answer */
    UT_hash_handle hh;                              /* by request, of the remote node */
    struct rsmd_forward *client_prev, *client_next; /* of the client */
};

/** A node of another host. */
struct rsmd_remote {
    uint32_t node;
    bool up;
    uint64_t incarnation;         /* of its daemon, as RELEASED says; 0: not known */
    struct rsmd_client client;    /* stands for its processes: owns their connections to us */
    struct rsmd_import *imports;  /* from here to there, by there.id */
    struct rsmd_forward *waiting; /* from here to there, not yet answered: oldest first */
    uint32_t last_request;
    bool leaving;                  /* the link has gone, and not all that was in common has ended */
    struct rsmd_import *doomed;    /* connections of either side, to be cut by and by */
    struct rsmd_import *owed;      /* of ours, cut, whose end it waits to hear of */
    bool reporting;                /* it is to be told which these are ... */
    struct rsmd_import *reported;  /* ... from this one on */
    struct rsmd_release *releases; /* offers to it that it has not released, by import */
    UT_hash_handle hh;             /* by node */
};

struct rsmd_remotes {
    struct event_base *base;
    uint64_t incarnation; /* of this daemon: random, not 0 */
    struct rsmd_remote_ops carrier;
    struct rsmd_remote *remote; /* by node: those that were up once */
    struct event *ends_go_on;   /* timer: something is left to end, or to report */
    struct rsmd_relay *relays;  /* that wait until their links keep up */
    unsigned relay_count;       /* of these */
    struct event *relays_go_on; /* timer: look whether they do */
};

/** What there is of a node; NULL: it was never up. */
struct rsmd_remote *rsmd_remote_of(const struct rsmd_node *node, uint32_t id);

bool rsmd_remote_send(const struct rsmd_node *node, const struct rsmd_remote *remote,
                      const struct rsm_cluster_msg *msg);

/* remote.c: a process, as messages between nodes name it. */

/** Of a user in more than RSM_CLUSTER_GROUPS_MAX groups the rest is left out: that takes rights
 *  away, it gives none. */
void rsmd_remote_pack_identity(const struct rsmd_identity *who, struct rsm_cluster_identity *into);
/** Good as long as @p from is. */
struct rsmd_identity rsmd_remote_identity(const struct rsm_cluster_identity *from);

/* importing.c: processes of ours that import from there. */
/** The connection of ours that the remote node calls so; NULL: none. */
struct rsmd_import *rsmd_remote_import(const struct rsmd_remote *remote, uint32_t id);
/** Abort a connection of ours. @p known: the exporter's node knows, or cannot be told. */
void rsmd_remote_abort(struct rsmd_node *node, struct rsmd_import *import, bool known);
void rsmd_remote_send_disconnect(const struct rsmd_node *node, const struct rsmd_remote *remote,
                                 uint32_t id, uint32_t died);

/* ends.c: all that was in common with a node ends. */
bool rsmd_ends_init(struct rsmd_node *node);
/** The link went. The rest of it may come later. */
void rsmd_ends_leave(struct rsmd_node *node, struct rsmd_remote *remote);
/** The rest now. */
void rsmd_ends_finish(struct rsmd_node *node, struct rsmd_remote *remote);
/** A connection of either side is to be cut, by and by; the node is told. */
void rsmd_ends_doom(struct rsmd_node *node, struct rsmd_import *import);
/** It has ended, or ends now. */
void rsmd_ends_done(struct rsmd_import *import);
/** @p remote waits to hear of the end of a connection of ours that is cut; rsmd_ends_pay(): has
 *  heard, or need not. */
void rsmd_ends_owe(struct rsmd_remote *remote, struct rsmd_import *import, uint32_t id);
void rsmd_ends_pay(struct rsmd_remote *remote, struct rsmd_import *import);
/** The link has come up: say which connections of before still reach memory there. */
void rsmd_ends_report(struct rsmd_node *node, struct rsmd_remote *remote);

/** Make one for a call; NULL: no memory. @p controller may be NULL. */
struct rsmd_forward *rsmd_remote_forward(const struct rsmd_call *call, struct rsmd_remote *remote,
                                         struct rsmd_controller *controller);
/** The one with that number, if it is of one of these types; NULL: nobody waits for it any more. */
struct rsmd_forward *rsmd_remote_forwarded(const struct rsmd_remote *remote, uint32_t request,
                                           bool of_interrupt);
/** Answer the client, once: the forward goes. @p reply has its body and status; @p fds stay the
 *  caller's, and may be NULL. */
void rsmd_remote_answer(struct rsmd_forward *forward, struct rsm_msg *reply,
                        const struct rsm_packet_fds *fds);
void rsmd_remote_refuse(struct rsmd_forward *forward, enum rsm_status status);
/** It is not under way, and the client gets no answer by it. */
void rsmd_remote_unforward(struct rsmd_forward *forward);

/* relay.c: those that wait for their links. */
bool rsmd_relays_init(struct rsmd_node *node);

/* exporting.c: processes there that import from us. */
/** Nobody waits any more to hear why the fabric has lost a connection; harmless where nobody did. */
void rsmd_fate_end(struct rsmd_import *import);

/* One for each message to the node: rsmd_remote_on_NAME(). */
#define LINK(NAME, number, name, body)
#define NODE(NAME, number, name, body)                                                             \
    void rsmd_remote_on_##name(struct rsmd_node *node, struct rsmd_remote *remote,                 \
                               const struct rsm_cluster_##body *msg);
#include "cluster/messages.def"

#endif
