/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports to rsmd, and signals of the exporter. */
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "transport/tcp/node/port.h"

int tcp_node_event_fd(struct rsm_node_port *port)
{
    return tcp_node_port_of(port)->events;
}

static bool has_report(const struct tcp_node_offer *offer)
{
    if (offer->ending)
        return offer->state == TCP_OFFER_ENDED;
    return offer->lost || offer->taken || offer->posted.count > 0 || offer->posted.coalesced;
}

static struct tcp_node_offer *next_report(const struct tcp_node_port *port)
{
    struct tcp_node_offer *offer = port->offers;
    while (offer != NULL && !has_report(offer))
        offer = offer->hh.next;
    return offer;
}

/* One report; the offer may be gone behind it. */
static void report(struct tcp_node_port *port, struct tcp_node_offer *offer,
                   const struct rsm_node_upcalls *up, void *context)
{
    struct rsm_signals *posted = &offer->posted;
    if (offer->ending) {
        up->revoked(context, &offer->base);
        tcp_offer_free(port, offer);
    } else if (posted->coalesced) {
        posted->coalesced = false;
        up->signalled(context, &offer->base, 1, true);
    } else if (posted->count > 0) {
        uint32_t count = posted->count;
        posted->count = 0;
        up->signalled(context, &offer->base, count, false);
    } else if (offer->taken) {
        offer->taken = false;
        up->taken(context, &offer->base);
    } else {
        offer->lost = false;
        up->lost(context, &offer->base);
    }
}

void tcp_node_dispatch(struct rsm_node_port *base, const struct rsm_node_upcalls *up, void *context)
{
    enum { EVENTS = 4 };
    struct tcp_node_port *port = tcp_node_port_of(base);
    struct epoll_event events[EVENTS];
    int count = epoll_wait(port->events, events, EVENTS, 0);
    for (int i = 0; i < count; i++) {
        eventfd_t unused;
        int fd = events[i].data.fd;
        if (fd == port->restart)
            tcp_helper_restart(port);
        else if (fd == port->pending)
            (void)eventfd_read(port->pending, &unused);
        else if (fd == port->helper.process ||
                 (fd == port->helper.control && !tcp_messages_take(port)))
            tcp_helper_lost(port);
        else if (fd == port->helper.control && (events[i].events & EPOLLOUT) != 0)
            tcp_revokes_send(port);
    }
    struct tcp_node_offer *offer;
    while ((offer = next_report(port)) != NULL)
        report(port, offer, up, context);
}

/* ------------------------------------------------------------------ signals of the exporter */

static enum rsm_status send_signals(struct rsm_node_port *base, struct rsm_node_offer *made,
                                    const struct rsm_signals *signals)
{
    struct tcp_node_port *port = tcp_node_port_of(base);
    struct tcp_node_offer *offer = tcp_offer_of(made);
    struct tcp_control message = {.type = TCP_CONTROL_NOTIFY,
                                  .grant = offer->id,
                                  .count = signals->count,
                                  .coalesced = signals->coalesced};
    if (offer->state != TCP_OFFER_OPEN || offer->lost)
        return RSM_ST_UNREACHABLE;
    if (!offer->listens)
        return RSM_ST_UNSUPPORTED;
    if (offer->under_way || tcp_control_send(port->helper.control, &message, NULL) != 0)
        return RSM_ST_BUSY;
    offer->under_way = true;
    return RSM_ST_OK;
}

/* rsm-tcpd sends them before it ends the connection, and the importer finds what has been sent. */
static bool signals_arrived(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    const struct tcp_node_offer *offer = tcp_offer_of(made);
    (void)port;
    return offer->state == TCP_OFFER_OPEN && !offer->lost;
}

static void collect_signals(struct rsm_node_port *base, struct rsm_node_offer *made,
                            struct rsm_signals *posted)
{
    struct tcp_node_port *port = tcp_node_port_of(base);
    struct tcp_node_offer *offer = tcp_offer_of(made);
    if (port->helper.pid != 0)
        (void)tcp_messages_take(port); /* its end is found by dispatch() */
    *posted = offer->posted;
    offer->posted = (struct rsm_signals){0, false};
}

const struct rsm_node_signal_ops tcp_node_signals = {
    .size = sizeof(struct rsm_node_signal_ops),
    .send = send_signals,
    .arrived = signals_arrived,
    .collect = collect_signals,
};
