/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The node half's port and offers, shared by its files: node.c (port, extents), offer.c
 *  (making and ending them), accept.c (connections that come in), grant.c (keys for one
 *  connection), notify.c (signals of the exporter).
 *
 *  rsmd's one thread runs all of it, but for extents: the pool has a thread of its own, and rsmd
 *  makes and frees extents in any. What a connection needs of the device is made in another thread
 *  (verbs_grant_prepare()). Until that is done (`preparing`), nothing else looks at it. */
#pragma once

#define HASH_NONFATAL_OOM 1
#include <pthread.h>
#include <stdatomic.h>
#include <uthash.h>

#include "transport/verbs/node/pool.h"
#include "transport/verbs/common/queue.h"
#include "transport/verbs/common/wire.h"

enum {
    /* Signals of the importer, and that it wants or has taken the exporter's. */
    VERBS_RECEIVES_AHEAD = VERBS_SIGNALS_AHEAD + 1,
    /* Numbers of work requests; binds have none of their own, for only their failures complete. */
    VERBS_SENT_MESSAGE = 1,
    VERBS_SENT_SIGNALS = 2,
};

enum verbs_offer_state {
    VERBS_WAITING,    /* for the importer */
    VERBS_CONNECTING, /* being prepared, or accepted and not confirmed by the importer yet */
    VERBS_CONNECTED,
    VERBS_LOST,
};

struct verbs_send_buffer; /* of send_buffer.c: registered memory to send from */

/* A piece and the key that reaches it: a window, or where there are none a registration. */
struct verbs_grant {
    struct rsm_extent_piece piece;
    struct ibv_mw *window;
    struct ibv_mr *mr;
    uint32_t key;
};

struct verbs_node_offer {
    struct rsm_node_offer base;
    uint8_t token[VERBS_TOKEN_BYTES];
    UT_hash_handle hh; /* by token */
    enum verbs_offer_state state;
    struct rsm_node_job job; /* prepares it */
    bool preparing;          /* ... and is not done: what it makes is the thread's, up to the end */
    bool prepared;           /* ... and has succeeded */
    atomic_bool unwanted;    /* lost or revoked meanwhile: need not be prepared any more */
    bool revoked;            /* it is freed when that is done */
    uint32_t mtu;            /* of the importer */
    bool loss_reported;      /* the loss was reported to rsmd */
    bool more;               /* completions were left for the next dispatch */
    bool windows;            /* keys are windows, not registrations */
    bool unconfirmed;        /* accepted, and no word of the importer since */
    uint32_t rights;
    uint32_t node; /* of the importer, for the log */
    struct rdma_cm_id *id;
    struct ibv_pd *pd; /* its own one if there are no windows, else NULL */
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct verbs_send_buffer *send_buffer;
    struct ibv_mr *send_buffer_mr; /* the buffer's registration in the offer's domain, or NULL */
    bool sending;                  /* the send buffer is in use */
    uint32_t uncredited;           /* signals taken for which no credit was returned */
    bool signals_armed;            /* the importer has armed signals of the exporter */
    bool unacknowledged;           /* it has not said that it took the latest */
    bool flying;                   /* ... which have perhaps not arrived yet */
    uint32_t count;
    struct verbs_grant grant[];
};

struct verbs_node_port {
    struct rsm_node_port base;
    uint64_t page;
    struct verbs_options options;
    struct verbs_device device;
    struct verbs_path path;
    struct ibv_pd *pd;
    bool windows;
    bool windows_leak; /* the device lets a window reach all of its registration */
    struct verbs_pool *pool;
    struct rdma_event_channel *events;
    struct rdma_cm_id *listener;
    struct sockaddr_storage address; /* of the listener */
    struct ibv_comp_channel *completions;
    int epoll;
    int again; /* eventfd: something was left for the next dispatch */
    struct verbs_node_offer *offers;
    uint64_t refused;                       /* connections */
    unsigned unreported;                    /* offers that rsmd does not know to be lost */
    pthread_mutex_t send_buffers_lock;      /* of the next two */
    struct verbs_send_buffer *send_buffers; /* free ones */
    struct verbs_send_buffer_chunk *send_buffer_chunks;
    struct verbs_deferred_disconnect
        *deferred_disconnects;        /* ended connections whose importers cannot be notified yet */
    unsigned unconfirmed_disconnects; /* of them: an event of the connection manager will come */
};

static inline struct verbs_node_port *verbs_node_port_of(struct rsm_node_port *port)
{
    return RSM_CONTAINER_OF(port, struct verbs_node_port, base);
}

static inline struct verbs_node_offer *verbs_node_offer_of(struct rsm_node_offer *offer)
{
    return RSM_CONTAINER_OF(offer, struct verbs_node_offer, base);
}

/* ------------------------------------------------------------------ grant.c */

/** Everything that one connection needs of the device before its importer is answered; what was
 *  made is in the offer also after a failure, for verbs_grant_end(). Takes long, and may be called
 *  by any thread. */
enum rsm_status verbs_grant_prepare(struct verbs_node_port *port, struct verbs_node_offer *offer);
/** Bind the keys to the connection and send them to the importer. */
bool verbs_grant_send(struct verbs_node_offer *offer);
/** Take the keys and the connection away: when it returns nothing lands any more. While a thread
 *  prepares the offer nothing can land, and only the importer's request is refused. */
void verbs_grant_end(struct verbs_node_port *port, struct verbs_node_offer *offer);

/** Return the credits of the signals taken so far. False: the connection has failed. */
bool verbs_credit_send(struct verbs_node_offer *offer);
/** Post receives for @p count signals. */
bool verbs_receive_ahead(struct verbs_node_offer *offer, unsigned count);

/* ------------------------------------------------------------------ notify.c */

extern const struct rsm_node_signal_ops verbs_node_signal_ops;

/* ------------------------------------------------------------------ send_buffer.c */

struct verbs_send_buffer {
    struct verbs_send_buffer *next;
    struct ibv_mr *mr;
    uint8_t *bytes; /* VERBS_MESSAGE_MAX of them */
};

/* Any thread. */
struct verbs_send_buffer *verbs_send_buffer_get(struct verbs_node_port *port);
void verbs_send_buffer_put(struct verbs_node_port *port, struct verbs_send_buffer *send_buffer);
void verbs_send_buffers_end(struct verbs_node_port *port);

/* ------------------------------------------------------------------ deferred_disconnect.c */

/** Notify the importer that its connection has ended, and destroy the id. That is deferred if the
 *  port is not active, or if the importer has not confirmed the connection yet (@p unconfirmed). */
void verbs_deferred_disconnect(struct verbs_node_port *port, struct rdma_cm_id *id,
                               bool unconfirmed);
/** An event has come for an id that belongs to no offer: an unconfirmed connection stands, or
 * failed. */
void verbs_deferred_disconnect_event(struct verbs_node_port *port, const struct rdma_cm_id *id);
/** The port may be active again. */
void verbs_deferred_disconnects_run(struct verbs_node_port *port);
/** For the end of the port: keep nothing back. */
void verbs_deferred_disconnects_end(struct verbs_node_port *port);

/* ------------------------------------------------------------------ accept.c */

bool verbs_listen(struct verbs_node_port *port);
void verbs_listen_end(struct verbs_node_port *port);
int verbs_event_fd(struct rsm_node_port *base);
void verbs_dispatch(struct rsm_node_port *base, const struct rsm_node_upcalls *up, void *context);

/* ------------------------------------------------------------------ offer.c */

enum rsm_status verbs_offer_make(struct rsm_node_port *base, const struct rsm_extent_piece *pieces,
                                 unsigned count, uint32_t rights,
                                 const struct rsm_importer *importer, struct rsm_offer *offer,
                                 struct rsm_node_offer **made);
/** The offer whose token this is, NULL if there is none (any more). */
struct verbs_node_offer *verbs_offer_find(const struct verbs_node_port *port,
                                          const uint8_t token[VERBS_TOKEN_BYTES]);
/** Free the resources of a connection that has ended. The next dispatch reports it to rsmd. */
void verbs_offer_lose(struct verbs_node_port *port, struct verbs_node_offer *offer);
void verbs_offer_revoke(struct verbs_node_port *port, struct verbs_node_offer *made);
