/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Segments across hosts from the inside. */
#ifndef RSMD_REMOTE_INTERNAL_H
#define RSMD_REMOTE_INTERNAL_H

#include "node/grants.h"
#include "node/hosts.h"
#include "node/imports.h"
#include "remote/relay.h"
#include "remote/release.h"
#include "remote/remote.h"

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

/** A process of another host that imports from here. It has a grant as long as it exists. */
struct rsmd_remote_importer {
    struct rsmd_importer importer; /* first, so that it leads here */
    struct rsmd_node *node;
    struct rsmd_remote *remote;
    struct rsmd_relay *relay;     /* to it; NULL until somebody posts */
    struct rsmd_release *release; /* of the offer, if its node has to release that */
    struct event *overdue;        /* the fabric has lost it, and its node is to say why */
    bool doomed; /* the fabric does not reach its node, and it is about to be cut */
    struct rsmd_remote_importer *prev, *next;               /* of the node */
    struct rsmd_remote_importer *doomed_prev, *doomed_next; /* of the node's doomed */
};

/** An import of a client of ours from a node of another host. */
struct rsmd_remote_import {
    struct rsmd_import import;     /* first, so that it leads here */
    struct rsmd_remote *remote;    /* NULL: aborted */
    struct rsmd_relay *relay;      /* to the exporter; NULL until the client posts */
    struct rsm_node_import *entry; /* of the controller's port; NULL: it needs none */
    bool doomed;                   /* as above */
    uint32_t owed; /* the exporter's node waits for a DISCONNECT with this id; 0: it does not */
    struct {
        uint32_t id; /* of the connection at the exporter's node; 0 once aborted */
        struct rsmd_segment_name name;
        uint64_t length;
    } exported;
    struct rsmd_remote_import *prev, *next; /* of the node: doomed, or owed */
    UT_hash_handle hh;                      /* by exported.id */
};

/** A node of another host. */
struct rsmd_remote {
    uint32_t node;
    bool up;
    uint64_t incarnation;                   /* of its daemon, as RELEASED says; 0: not known */
    struct rsmd_remote_importer *importers; /* from there to here */
    struct rsmd_remote_import *imports;     /* from here to there, by the exporter's id */
    struct rsmd_forward *waiting;           /* from here to there, not yet answered: oldest first */
    uint32_t last_request;
    bool leaving; /* the link has gone, and not all that was in common has ended */
    struct rsmd_remote_importer *doomed_importers; /* connections to be cut by and by ... */
    struct rsmd_remote_import *doomed_imports;     /* ... of either side */
    struct rsmd_remote_import *owed;               /* of ours, cut, whose end it waits to hear of */
    bool reporting;                                /* it is to be told which these are ... */
    struct rsmd_remote_import *reported;           /* ... from this one on */
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
void rsmd_remote_on_reply(struct rsmd_node *node, struct rsmd_remote *remote,
                          const struct rsm_cluster_connect_reply *reply);
void rsmd_remote_on_abort(struct rsmd_node *node, struct rsmd_remote *remote, uint32_t id);
void rsmd_remote_on_unavailable(struct rsmd_node *node, const struct rsmd_remote *remote,
                                uint32_t id);
void rsmd_remote_on_released(struct rsmd_node *node, struct rsmd_remote *remote,
                             const struct rsm_cluster_released *released);
/** The connection of ours that the remote node calls so; NULL: none. */
struct rsmd_remote_import *rsmd_remote_import(const struct rsmd_remote *remote, uint32_t id);
/** Abort a connection of ours. @p known: the exporter's node knows, or cannot be told. */
void rsmd_remote_abort(struct rsmd_node *node, struct rsmd_remote_import *import, bool known);
void rsmd_remote_send_disconnect(const struct rsmd_node *node, const struct rsmd_remote *remote,
                                 uint32_t id, uint32_t died);

/* What the rest of the node asks for (hosts.h), in ends.c, importing.c and interrupts.c. */
void rsmd_remote_cut(struct rsmd_node *node, const struct rsmd_controller *controller, uint32_t id);
void rsmd_remote_cut_all(struct rsmd_node *node, const struct rsmd_controller *controller);
enum rsm_status rsmd_remote_connect(struct rsmd_call *call, struct rsmd_controller *controller);
enum rsm_status rsmd_remote_trigger(struct rsmd_call *call, uint32_t node,
                                    const struct rsmd_trigger *trigger);

/* ends.c: all that was in common with a node ends. */
bool rsmd_ends_init(struct rsmd_node *node);
/** The link went. The rest of it may come later. */
void rsmd_ends_leave(struct rsmd_node *node, struct rsmd_remote *remote);
/** The rest now. */
void rsmd_ends_finish(struct rsmd_node *node, struct rsmd_remote *remote);
/** A connection from there is to be cut, by and by; the node is told. */
void rsmd_ends_doom(struct rsmd_node *node, struct rsmd_remote_importer *importer);
/** A connection has ended, or ends now. */
void rsmd_ends_done_importer(struct rsmd_remote_importer *importer);
void rsmd_ends_done_import(struct rsmd_remote_import *import);
/** @p remote waits to hear of the end of a connection of ours that is cut; rsmd_ends_pay(): has
 *  heard, or need not. */
void rsmd_ends_owe(struct rsmd_remote *remote, struct rsmd_remote_import *import, uint32_t id);
void rsmd_ends_pay(struct rsmd_remote *remote, struct rsmd_remote_import *import);
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

/* interrupts.c: interrupts of either side. */
void rsmd_remote_on_interrupt(struct rsmd_node *node, const struct rsmd_remote *remote,
                              const struct rsm_cluster_interrupt *asked);
void rsmd_remote_on_interrupt_reply(const struct rsmd_remote *remote,
                                    const struct rsm_cluster_interrupt_reply *reply);

/* relay.c: those that wait for their links. */
bool rsmd_relays_init(struct rsmd_node *node);

/* exporting.c: processes there that import from us. */
/** The one of the remote node that has this id; NULL: there is none. */
struct rsmd_remote_importer *rsmd_remote_importer(const struct rsmd_node *node,
                                                  const struct rsmd_remote *remote, uint32_t id);
/** End the connection of a process there, which the remote node knows, and free it. */
void rsmd_remote_importer_free(struct rsmd_node *node, struct rsmd_remote_importer *importer,
                               enum rsm_record_event event);
void rsmd_remote_on_connect(struct rsmd_node *node, struct rsmd_remote *remote,
                            const struct rsm_cluster_connect *asked);
void rsmd_remote_on_disconnect(struct rsmd_node *node, struct rsmd_remote *remote,
                               const struct rsm_cluster_import *gone);

#endif
