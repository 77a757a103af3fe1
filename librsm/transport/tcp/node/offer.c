/* SPDX-License-Identifier: BSD-3-Clause */
/* Offers: the messages to rsm-tcpd about them, and their ends. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/extent_memfd.h"
#include "base/extent_pieces.h"
#include "base/log.h"
#include "base/status.h"
#include "transport/tcp/node/port.h"

enum {
    REVOKE_MS = 1000, /* then rsm-tcpd is killed */
    ENDING_MS = 100,  /* the same where it has the message already */
};

static struct tcp_node_offer *find(const struct tcp_node_port *port, uint64_t id)
{
    struct tcp_node_offer *offer;
    HASH_FIND(hh, port->offers, &id, sizeof id, offer);
    return offer;
}

void tcp_report_later(struct tcp_node_port *port)
{
    (void)eventfd_write(port->pending, 1);
}

/* ------------------------------------------------------------------ messages of rsm-tcpd */

static void take_signals(struct tcp_node_offer *offer, const struct tcp_control *message)
{
    uint32_t room = RSM_SIGNALS_MAX - offer->posted.count;
    if (offer->posted.count == 0)
        offer->posted.coalesced |= message->coalesced != 0;
    offer->posted.count += message->count < room ? message->count : room;
}

static void take_message(struct tcp_node_offer *offer, const struct tcp_control *message)
{
    if (offer->ending && message->type != TCP_CONTROL_REVOKED)
        return;
    switch (message->type) {
    case TCP_CONTROL_SIGNALLED:
        take_signals(offer, message);
        break;
    case TCP_CONTROL_LOST:
        offer->lost = true;
        break;
    case TCP_CONTROL_LISTENS:
        offer->listens = true;
        break;
    case TCP_CONTROL_TAKEN:
        offer->taken = offer->under_way;
        offer->under_way = false;
        break;
    case TCP_CONTROL_REVOKED:
        offer->state = TCP_OFFER_ENDED;
        break;
    default:
        break;
    }
}

bool tcp_messages_take(struct tcp_node_port *port)
{
    struct tcp_control message;
    for (;;) {
        int got = tcp_control_receive(port->helper.control, &message, NULL);
        if (got <= 0)
            return got == 0;
        struct tcp_node_offer *offer = find(port, message.grant);
        if (offer == NULL)
            continue;
        take_message(offer, &message);
        tcp_report_later(port);
    }
}

/* ------------------------------------------------------------------ offers */

/* Descriptors with the rights that are granted. */
static enum rsm_status send_grant(struct tcp_node_port *port, struct tcp_control *message,
                                  const struct rsm_extent_piece *pieces, unsigned count)
{
    struct rsm_packet_fds fds = {.count = 0};
    enum rsm_status status = RSM_ST_OK;
    while (fds.count < count && status == RSM_ST_OK) {
        int fd = rsmcore_extent_memfd_share(pieces[fds.count].extent->fd,
                                            (message->rights & RSM_RIGHT_WRITE) != 0);
        if (fd < 0)
            status = rsmcore_status_from_errno(errno);
        else
            fds.fds[fds.count++] = fd;
    }
    if (status == RSM_ST_OK && tcp_control_send(port->helper.control, message, &fds) != 0)
        status = RSM_ST_NO_RESOURCES;
    rsm_packet_fds_close(&fds);
    return status;
}

static enum rsm_status grant(struct tcp_node_port *port, struct tcp_node_offer *offer,
                             const struct rsm_extent_piece *pieces, unsigned count, uint32_t rights,
                             const struct rsm_importer *importer, struct tcp_offer *blob)
{
    struct tcp_control message = {.type = TCP_CONTROL_GRANT,
                                  .grant = offer->id,
                                  .rights = rights,
                                  .node = importer->node,
                                  .uid = importer->uid,
                                  .pieces = rights != 0 ? count : 0};
    if (getrandom(message.token, sizeof message.token, 0) != (ssize_t)sizeof message.token)
        return RSM_ST_NO_RESOURCES;
    for (uint32_t i = 0; i < message.pieces; i++) {
        message.piece[i].offset = pieces[i].extent->offset + pieces[i].offset;
        message.piece[i].length = pieces[i].length;
    }
    enum rsm_status status = send_grant(port, &message, pieces, message.pieces);
    *blob = (struct tcp_offer){.port = port->port, .tls = port->options.tls, .grant = offer->id};
    memcpy(blob->token, message.token, sizeof blob->token);
    explicit_bzero(&message, sizeof message);
    return status;
}

enum rsm_status tcp_node_offer(struct rsm_node_port *base, const struct rsm_extent_piece *pieces,
                               unsigned count, uint32_t rights, const struct rsm_importer *importer,
                               struct rsm_offer *offer, struct rsm_node_offer **made)
{
    struct tcp_node_port *port = tcp_node_port_of(base);
    struct tcp_offer blob;
    if ((rights & ~(RSM_RIGHT_READ | RSM_RIGHT_WRITE)) != 0 ||
        !rsmcore_extent_pieces_are_inside(pieces, count, RSM_OFFER_MAX_FDS, port->page))
        return RSM_ST_INVALID;
    if (port->helper.pid == 0)
        return RSM_ST_UNREACHABLE;
    struct tcp_node_offer *granted = calloc(1, sizeof *granted);
    if (granted == NULL)
        return RSM_ST_NO_MEMORY;
    /* rsm-tcpd may have as many descriptors as rsmd. So what a connection takes there is charged
     * as if it were taken here. */
    granted->base = (struct rsm_node_offer){.port = base, .descriptors = TCP_STREAMS};
    granted->id = ++port->last_id;
    HASH_ADD(hh, port->offers, id, sizeof granted->id, granted);
    enum rsm_status status = RSM_ST_NO_MEMORY;
    if (granted->hh.tbl != NULL)
        status = grant(port, granted, pieces, count, rights, importer, &blob);
    if (status != RSM_ST_OK) {
        tcp_offer_free(port, granted);
        return status;
    }
    tcp_offer_encode(&blob, offer->blob);
    offer->blob_len = TCP_OFFER_BYTES;
    offer->fd_count = 0;
    explicit_bzero(&blob, sizeof blob);
    *made = &granted->base;
    return RSM_ST_OK;
}

enum rsm_status tcp_node_offer_take(struct rsm_node_port *base,
                                    const struct rsm_extent_piece *pieces, unsigned count,
                                    uint32_t rights, const struct rsm_importer *importer,
                                    struct rsm_node_offer **made)
{
    struct tcp_node_port *port = tcp_node_port_of(base);
    (void)pieces, (void)count, (void)rights, (void)importer;
    struct tcp_node_offer *taken = calloc(1, sizeof *taken);
    if (taken == NULL)
        return RSM_ST_NO_MEMORY;
    *taken = (struct tcp_node_offer){.base = {.port = base, .descriptors = TCP_STREAMS},
                                     .id = ++port->last_id,
                                     .state = TCP_OFFER_ENDED,
                                     .lost = true};
    HASH_ADD(hh, port->offers, id, sizeof taken->id, taken);
    if (taken->hh.tbl == NULL) {
        free(taken);
        return RSM_ST_NO_MEMORY;
    }
    tcp_report_later(port);
    *made = &taken->base;
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ revoke */

/* False: rsm-tcpd does not read. */
static bool send_revoke(struct tcp_node_port *port, uint64_t id, int64_t deadline)
{
    struct tcp_control message = {.type = TCP_CONTROL_REVOKE, .grant = id};
    struct pollfd writable = {.fd = port->helper.control, .events = POLLOUT};
    int error;
    while ((error = tcp_control_send(port->helper.control, &message, NULL)) == EAGAIN) {
        if (!tcp_messages_take(port) || rsm_deadline_has_passed(deadline))
            return false;
        (void)poll(&writable, 1, rsm_deadline_left_ms(deadline));
    }
    return error == 0;
}

static bool await_revoked(struct tcp_node_port *port, const struct tcp_node_offer *offer,
                          int64_t deadline)
{
    struct pollfd readable = {.fd = port->helper.control, .events = POLLIN};
    while (offer->state == TCP_OFFER_OPEN) {
        if (!tcp_messages_take(port))
            return false;
        if (offer->state != TCP_OFFER_OPEN)
            return true;
        if (rsm_deadline_has_passed(deadline))
            return false;
        (void)poll(&readable, 1, rsm_deadline_left_ms(deadline));
    }
    return true;
}

void tcp_offer_free(struct tcp_node_port *port, struct tcp_node_offer *offer)
{
    if (offer->hh.tbl != NULL)
        HASH_DELETE(hh, port->offers, offer);
    free(offer);
}

/* When rsm-tcpd has answered, or has ended, nothing arrives by this offer. */
void tcp_node_revoke(struct rsm_node_port *base, struct rsm_node_offer *made)
{
    struct tcp_node_port *port = tcp_node_port_of(base);
    struct tcp_node_offer *offer = tcp_offer_of(made);
    bool sent = offer->ending && !offer->unsent;
    int64_t deadline = rsm_deadline(sent ? ENDING_MS : REVOKE_MS);
    bool ended =
        offer->state != TCP_OFFER_OPEN ||
        ((sent || send_revoke(port, offer->id, deadline)) && await_revoked(port, offer, deadline));
    if (!ended && offer->state == TCP_OFFER_OPEN)
        tcp_helper_lost(port);
    tcp_offer_free(port, offer);
}

/* ------------------------------------------------------------------ a revoke that ends later */

static void watch_control(struct tcp_node_port *port, bool full)
{
    struct epoll_event events = {.events = full ? EPOLLIN | EPOLLOUT : EPOLLIN,
                                 .data.fd = port->helper.control};
    if (port->helper.pid != 0 && port->full != full)
        (void)epoll_ctl(port->events, EPOLL_CTL_MOD, port->helper.control, &events);
    port->full = full;
}

/* Another error than EAGAIN is the end of rsm-tcpd, which dispatch() finds. */
static bool send_end(struct tcp_node_port *port, struct tcp_node_offer *offer)
{
    struct tcp_control message = {.type = TCP_CONTROL_REVOKE, .grant = offer->id};
    offer->unsent = tcp_control_send(port->helper.control, &message, NULL) == EAGAIN;
    return !offer->unsent;
}

void tcp_revokes_send(struct tcp_node_port *port)
{
    struct tcp_node_offer *offer, *next;
    bool takes = true;
    HASH_ITER(hh, port->offers, offer, next)
    {
        if (takes && offer->unsent)
            takes = send_end(port, offer);
    }
    watch_control(port, !takes);
}

bool tcp_node_revoke_begin(struct rsm_node_port *base, struct rsm_node_offer *made)
{
    struct tcp_node_port *port = tcp_node_port_of(base);
    struct tcp_node_offer *offer = tcp_offer_of(made);
    if (offer->state == TCP_OFFER_ENDED) {
        tcp_offer_free(port, offer);
        return true;
    }
    offer->ending = true;
    offer->lost = offer->taken = false;
    offer->posted = (struct rsm_signals){0, false};
    if (!send_end(port, offer))
        watch_control(port, true);
    return false;
}
