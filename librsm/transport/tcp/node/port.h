/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The node half of the tcp transport: extents and offers in rsmd, and the process rsm-tcpd, which
 * serves them. rsmd itself has the listening socket, so its port stays when rsm-tcpd is restarted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "helper/process.h"
#include "rsm/transport.h"
#include "transport/tcp/common/control.h"
#include "transport/tcp/common/options.h"

enum tcp_offer_state {
    TCP_OFFER_OPEN,
    TCP_OFFER_ENDED, /**< rsm-tcpd has it no more */
};

struct tcp_node_offer {
    struct rsm_node_offer base;
    UT_hash_handle hh;
    uint64_t id;
    enum tcp_offer_state state;
    bool ending;             /**< revoke_begin() has been called */
    bool unsent;             /**< and the message to rsm-tcpd waits */
    bool listens, under_way; /**< for signals of the exporter */
    /* what dispatch() is to report */
    bool lost, taken;
    struct rsm_signals posted;
};

struct tcp_node_port {
    struct rsm_node_port base;
    struct tcp_options options;
    uint64_t page;
    int listener;
    uint32_t port;                 /**< of the listener */
    int events;                    /**< epoll: what follows */
    int restart;                   /**< timer: start rsm-tcpd again */
    int pending;                   /**< eventfd: an offer has something to report */
    struct rsm_helper helper;      /**< rsm-tcpd */
    int64_t started_ns;            /**< when */
    struct tcp_node_offer *offers; /**< hash by id */
    bool full;                     /**< messages about revokes wait until rsm-tcpd reads */
    uint64_t last_id;
};

static inline struct tcp_node_port *tcp_node_port_of(struct rsm_node_port *port)
{
    return RSM_CONTAINER_OF(port, struct tcp_node_port, base);
}

static inline struct tcp_node_offer *tcp_offer_of(struct rsm_node_offer *made)
{
    return RSM_CONTAINER_OF(made, struct tcp_node_offer, base);
}

/* ------------------------------------------------------------------ helper.c */

/** Start rsm-tcpd. False, with a line in the log: it does not start. */
bool tcp_helper_start(struct tcp_node_port *port);
/** Kill it and wait for its end: none of its accesses happens afterwards. */
void tcp_helper_end(struct tcp_node_port *port);
/** It has ended or is to be ended: all offers are lost, and it is started again. */
void tcp_helper_lost(struct tcp_node_port *port);
/** The timer has fired. */
void tcp_helper_restart(struct tcp_node_port *port);

/* ------------------------------------------------------------------ offer.c */

/** Take what rsm-tcpd has sent, and note it at the offers. False: it has gone. */
bool tcp_messages_take(struct tcp_node_port *port);
/** There is something to report. */
void tcp_report_later(struct tcp_node_port *port);

enum rsm_status tcp_node_offer(struct rsm_node_port *base, const struct rsm_extent_piece *pieces,
                               unsigned count, uint32_t rights, const struct rsm_importer *importer,
                               struct rsm_offer *offer, struct rsm_node_offer **made);
/** An offer of a predecessor, whose rsm-tcpd has ended with it: it is reported as lost. */
enum rsm_status tcp_node_offer_take(struct rsm_node_port *base,
                                    const struct rsm_extent_piece *pieces, unsigned count,
                                    uint32_t rights, const struct rsm_importer *importer,
                                    struct rsm_node_offer **made);
void tcp_node_revoke(struct rsm_node_port *base, struct rsm_node_offer *made);
bool tcp_node_revoke_begin(struct rsm_node_port *base, struct rsm_node_offer *made);
/** rsm-tcpd reads again: send what waits. */
void tcp_revokes_send(struct tcp_node_port *port);
/** An offer has ended for everybody. */
void tcp_offer_free(struct tcp_node_port *port, struct tcp_node_offer *offer);

/* ------------------------------------------------------------------ events.c */

int tcp_node_event_fd(struct rsm_node_port *port);
void tcp_node_dispatch(struct rsm_node_port *base, const struct rsm_node_upcalls *up,
                       void *context);
extern const struct rsm_node_signal_ops tcp_node_signals;
