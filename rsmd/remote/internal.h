/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Segments across hosts from the inside. */
#pragma once

#include "node/grants.h"
#include "node/hosts.h"
#include "node/imports.h"
#include "remote/remote.h"

struct event;
struct rsmd_relay;
struct rsmd_release;
struct rsmd_parked;

/** A client's request that a remote node has not answered yet, or that waits for the link. */
struct rsmd_forward {
    struct rsmd_node *node;
    struct rsmd_remote *remote;
    struct rsmd_client *client;
    struct rsmd_controller *controller;
    struct rsm_importer importer;
    uint32_t request;  /* its number for the remote node */
    uint32_t type;     /* of the client's message: RSM_MSG_IMPORT_CONNECT, RSM_MSG_INTERRUPT_* */
    uint32_t sequence; /* of the client's message */
    struct rsmd_segment_name name;
    uint32_t rights;
    struct event *late;                             /* timer: the remote node does not answer */
    struct rsmd_parked *parked;                     /* the request; NULL: it was sent */
    struct rsmd_identity who;                       /* of a parked one */
    struct rsmd_forward *prev, *next;               /* the same, of the node */
    UT_hash_handle hh;                              /* by request, of the remote node */
    struct rsmd_forward *client_prev, *client_next; /* of the client */
};

/** A process of another host that imports from here. It always has a grant. */
struct rsmd_remote_importer {
    struct rsmd_importer importer; /* first, so that it leads here */
    struct rsmd_node *node;
    struct rsmd_remote *remote;
    struct rsmd_relay *relay;     /* to it; NULL until the exporter posts */
    struct rsmd_release *release; /* of the offer, if its node has to release it */
    /* timer: the fabric has lost it, and its node has to report why */
    struct event *overdue;
    bool doomed; /* the fabric does not reach its node, and it is about to be cut */
    struct rsmd_remote_importer *prev, *next;               /* of the node */
    struct rsmd_remote_importer *doomed_prev, *doomed_next; /* of the node's doomed */
};

/** A client's import from a node of another host. */
struct rsmd_remote_import {
    struct rsmd_import import;     /* first, so that it leads here */
    struct rsmd_remote *remote;    /* NULL: aborted */
    struct rsmd_relay *relay;      /* to the exporter; NULL until the client posts */
    struct rsm_node_import *entry; /* of the controller's port; NULL: it needs none */
    bool doomed;                   /* as above */
    uint32_t
        awaited_id; /* the exporter's node waits for a DISCONNECT with this id; 0: it does not */
    struct {
        uint32_t id; /* of the connection at the exporter's node; 0 once aborted */
        struct rsmd_segment_name name;
        uint64_t length;
    } exported;
    char transport[RSM_TRANSPORT_NAME_MAX]; /* that carries the connection */
    struct rsmd_remote_import *prev, *next; /* of the node: doomed, or disconnect_awaited */
    UT_hash_handle hh;                      /* by exported.id */
};

/** A node of another host. */
struct rsmd_remote {
    uint32_t node;
    bool up;
    uint64_t incarnation;                   /* of its daemon, from RELEASED; 0: not known */
    struct rsmd_remote_importer *importers; /* processes of that node that import from here */
    struct rsmd_remote_import *imports;     /* imports from that node, by the exporter's id */
    struct rsmd_forward *waiting;           /* forwarded requests, not yet answered: oldest first */
    uint32_t last_request;
    struct rsmd_forward *parked; /* requests that wait for the link: oldest first */
    unsigned parked_count;
    unsigned parked_due; /* of these: no longer, because the link is there, or cannot be made */
    bool parked_made;
    bool silent;                             /* it does not answer, for now ... ... */
    struct rsmd_remote_import *noted_import; /* ... which is noted for the connections ... ... */
    struct rsmd_remote_importer *noted_importer; /* ... of either side, from these on */
    bool leaving; /* the link has gone down, and not all connections have ended */
    struct rsmd_remote_importer *doomed_importers; /* connections to be cut in slices ... ... */
    struct rsmd_remote_import *doomed_imports;     /* ... of either side */
    /* imports that are cut, for which the node awaits a DISCONNECT */
    struct rsmd_remote_import *disconnect_awaited;
    bool reporting;                      /* these are being named to the node ... ... */
    struct rsmd_remote_import *reported; /* ... from this one on */
    struct rsmd_release *releases;       /* offers to it that it has not released, by import */
    UT_hash_handle hh;                   /* by node */
};

struct rsmd_remotes {
    struct event_base *base;
    uint64_t incarnation; /* of this daemon: random, not 0 */
    struct rsmd_remote_ops carrier;
    struct rsmd_remote *remote; /* by node: those that were up once */
    struct event *ends_go_on;   /* timer: connections are left to end, or to report */
    struct rsmd_relay *relays;  /* that wait until their links keep up */
    unsigned relay_count;       /* of these */
    struct event *relays_go_on; /* timer: try them again */
};

/** The entry of a node; NULL: it was neither up nor needed. */
struct rsmd_remote *rsmd_remote_of(const struct rsmd_node *node, uint32_t id);
/** The same, made if need be. NULL: no memory. */
struct rsmd_remote *rsmd_remote_need(struct rsmd_node *node, uint32_t id);

bool rsmd_remote_send(const struct rsmd_node *node, const struct rsmd_remote *remote,
                      const struct rsm_cluster_msg *msg);

/* remote.c: identities of processes in messages between nodes. */

/** Groups beyond RSM_CLUSTER_GROUPS_MAX are left out: that can only reduce rights. */
void rsmd_remote_pack_identity(const struct rsmd_identity *who, struct rsm_cluster_identity *into);
/** Valid as long as @p from is. */
struct rsmd_identity rsmd_remote_identity(const struct rsm_cluster_identity *from);

/* importing.c: local processes that import from other hosts. */
/** The import with the remote node's id; NULL: none. */
struct rsmd_remote_import *rsmd_remote_import(const struct rsmd_remote *remote, uint32_t id);
/** Abort an import. @p known: the exporter's node knows, or is not reachable. */
void rsmd_remote_abort(struct rsmd_node *node, struct rsmd_remote_import *import, bool known);
void rsmd_remote_send_disconnect(const struct rsmd_node *node, const struct rsmd_remote *remote,
                                 uint32_t id, uint32_t died);

/* The operations of hosts.h, in ends.c, importing.c and interrupts.c. */
void rsmd_remote_cut(struct rsmd_node *node, const struct rsmd_controller *controller, uint32_t id);
void rsmd_remote_cut_all(struct rsmd_node *node, const struct rsmd_controller *controller);
enum rsm_status rsmd_remote_connect(struct rsmd_call *call, struct rsmd_controller *controller);
enum rsm_status rsmd_remote_trigger(struct rsmd_call *call, uint32_t node,
                                    const struct rsmd_trigger *trigger);

/* parked.c */
enum rsm_status rsmd_remote_await(struct rsmd_call *call, uint32_t id); /* of hosts.h */
/** A parked request is freed. */
void rsmd_unpark(struct rsmd_forward *forward);
/** Serve some requests whose wait is over. True: all of them. */
bool rsmd_parked_serve(struct rsmd_remote *remote, int64_t until);

/* silence.c */
/** Note for some connections whether the node answers. True: for all of them. */
bool rsmd_silence_note(struct rsmd_node *node, struct rsmd_remote *remote, int64_t until);
bool rsmd_silence_is_noted(const struct rsmd_remote *remote);
/** A connection is about to be freed. */
void rsmd_silence_pass_import(struct rsmd_remote_import *import);
void rsmd_silence_pass_importer(struct rsmd_remote_importer *importer);

/* ends.c: the end of all connections with a node. */
bool rsmd_ends_init(struct rsmd_node *node);
/** Begin to end all connections: the link has gone down. The rest may follow later. */
void rsmd_ends_leave(struct rsmd_node *node, struct rsmd_remote *remote);
/** End the rest now. */
void rsmd_ends_finish(struct rsmd_node *node, struct rsmd_remote *remote);
/** Continue with what is done in slices for a node. */
void rsmd_ends_go_on(struct rsmd_node *node, struct rsmd_remote *remote);
/** Cut a remote importer later, in a slice, and notify its node. */
void rsmd_ends_doom(struct rsmd_node *node, struct rsmd_remote_importer *importer);
/** A remote importer has been cut, or is being freed. */
void rsmd_ends_done_importer(struct rsmd_remote_importer *importer);
void rsmd_ends_done_import(struct rsmd_remote_import *import);
/** @p remote awaits a DISCONNECT with @p id for an import that is cut; rsmd_ends_disconnected(): it
 *  was sent, or is not needed. */
void rsmd_ends_await_disconnect(struct rsmd_remote *remote, struct rsmd_remote_import *import,
                                uint32_t id);
void rsmd_ends_disconnected(struct rsmd_remote *remote, struct rsmd_remote_import *import);
/** Name the earlier connections that still reach memory of the node, after the link has come up. */
void rsmd_ends_report(struct rsmd_node *node, struct rsmd_remote *remote);

/** Make a forward for a call, and charge the client for it. @p controller may be NULL. RSM_ST_OK,
 *  RSM_ST_NO_RESOURCES, RSM_ST_NO_MEMORY. */
enum rsm_status rsmd_remote_forward(const struct rsmd_call *call, struct rsmd_remote *remote,
                                    struct rsmd_controller *controller, struct rsmd_forward **made);
/** Send its message, and answer the call later. RSM_ST_UNREACHABLE: it is freed. */
enum rsm_status rsmd_remote_send_forward(struct rsmd_call *call, struct rsmd_forward *forward,
                                         const struct rsm_cluster_msg *msg);
/** The forward with that number, if it is of one of these types; NULL: no client waits for it. */
struct rsmd_forward *rsmd_remote_forwarded(const struct rsmd_remote *remote, uint32_t request,
                                           bool of_interrupt);
/** Answer the client, and free the forward. @p reply has body and status; the caller keeps @p fds,
 *  which may be NULL. */
void rsmd_remote_answer(struct rsmd_forward *forward, struct rsm_msg *reply,
                        const struct rsm_packet_fds *fds);
void rsmd_remote_refuse(struct rsmd_forward *forward, enum rsm_status status);
/** Free a forward without an answer. */
void rsmd_remote_unforward(struct rsmd_forward *forward);

/* exporting.c: processes of other hosts that import from here. */
/** The remote node's importer with this id; NULL: there is none. */
struct rsmd_remote_importer *rsmd_remote_importer(const struct rsmd_node *node,
                                                  const struct rsmd_remote *remote, uint32_t id);
/** End the connection of a remote importer, of which its node knows, and free it. */
void rsmd_remote_importer_free(struct rsmd_node *node, struct rsmd_remote_importer *importer,
                               enum rsm_record_event event);

/* relay.c:
 *
 * Relays: event counters of rsmd that stand for the end of a connection on another host. A poster
 * uses one like any other counter, and requests rsmd to ring it. rsmd then forwards the events in
 * it: to an importer over the fabric, if the transport and the importer support it, else over the
 * cluster link.
 *
 * While a link does not keep up, or an importer does not take what the fabric brought, events wait
 * in their counter, where any number needs no memory.
 */

/** The target of a relay. */
struct rsmd_relay_target {
    struct rsmd_remote *remote;
    struct rsmd_account *account;   /* the importer's, which is charged */
    uint32_t end;                   /* RSM_EVENT_EXPORT, RSM_EVENT_IMPORT */
    uint32_t id;                    /* of the connection, as EVENT names it */
    const struct rsmd_grant *grant; /* of an importer: its offer may carry events over the fabric */
};

/** Make a relay if *relay is NULL, and make the counter for posters. RSM_ST_NO_RESOURCES,
 *  RSM_ST_NO_MEMORY. */
enum rsm_status rsmd_relay_need(struct rsmd_node *node, struct rsmd_relay **relay,
                                const struct rsmd_relay_target *target,
                                const struct rsmd_events **events);

/** Relays that wait for their links. */
bool rsmd_relays_init(struct rsmd_node *node);

/** Forward the events that were posted to it. False: there is no relay. As the functions below,
 *  harmless then. */
bool rsmd_relay_rung(struct rsmd_relay *relay);

/** The importer has taken what went to it over the fabric. */
void rsmd_relay_taken(struct rsmd_relay *relay);

/** Send by the link what the fabric has not delivered: the grant is about to be revoked. */
void rsmd_relay_leave_fabric(struct rsmd_relay *relay);

/** Forward by the link what has been posted so far: the connection ends. */
void rsmd_relay_flush(struct rsmd_relay *relay);

/** Close it; what is left in it is lost. */
void rsmd_relay_free(struct rsmd_relay **relay);

/* release.c:
 *
 * Offers to other hosts that have been revoked here, and that the importers' nodes have not
 * released yet (struct rsm_node_import_ops). The message that releases one is DISCONNECT.
 */

/** Make a release before the grant to a process of another host, so that waiting for the release of
 *  its offer cannot fail later. NULL: no memory. Its owner frees it with free(). */
struct rsmd_release *rsmd_release_make(void);
/** Set its grant. */
void rsmd_release_init(struct rsmd_release *release, const struct rsmd_grant *grant);
/** Wait until the node has released the offer, after the grant has been revoked. NULL: there is
 *  nothing to wait for. */
void rsmd_release_await(struct rsmd_remote *remote, struct rsmd_release *release);

/** The node has released the offer of the connection with this id. Unknown ids are ignored. */
void rsmd_release(struct rsmd_remote *remote, uint32_t import);
/** The link to the node has come up: mark all as unconfirmed, until the node names those that it
 *  still has. */
void rsmd_releases_anew(const struct rsmd_node *node, struct rsmd_remote *remote);
/** The node still has the offer of the connection with this id. */
void rsmd_release_keep(const struct rsmd_remote *remote, uint32_t import);
/** The node has named all that it has: release those of daemon @p incarnation that are
 *  unconfirmed. */
void rsmd_releases_others(struct rsmd_remote *remote, uint64_t incarnation);
/** Free all: this node ends. */
void rsmd_releases_end(struct rsmd_remote *remote);

/* One for each message to the node: rsmd_remote_on_NAME(). */
#define LINK(NAME, number, name, body)
#define NODE(NAME, number, name, body)                                                             \
    void rsmd_remote_on_##name(struct rsmd_node *node, struct rsmd_remote *remote,                 \
                               const struct rsm_cluster_##body *msg);
#include "cluster/messages.def"
