/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys for one connection. With type-2 memory windows a key is good on the queue pair it was bound
 * on and on no other, and reaches the piece and nothing around it. Devices without them get a
 * registration of the piece in a protection domain that only this connection uses, which is as
 * tight but takes longer to make.
 *
 * Taking them away: the queue pair is stopped, so that no further packet is executed; then the
 * windows are freed, which the device confirms when no access through them is under way; then the
 * queue pair is destroyed, which it confirms when it works on it no more. The confirmations
 * reach memory behind all that was written before (registrations are never relaxed-ordered).
 */
#include <errno.h>

#include "base/log.h"
#include "transport/verbs/node/node.h"

enum { SENDS_BESIDES_BINDS = 4 /* a message, signals, and two to spare */, COMPLETIONS_SPARE = 8 };

static unsigned remote_access(uint32_t rights)
{
    return ((rights & RSM_RIGHT_READ) != 0 ? (unsigned)IBV_ACCESS_REMOTE_READ : 0u) |
           ((rights & RSM_RIGHT_WRITE) != 0 ? (unsigned)IBV_ACCESS_REMOTE_WRITE : 0u);
}

static uint8_t *start_of(const struct rsm_extent_piece *piece)
{
    return verbs_extent_of(piece->extent)->bytes + piece->offset;
}

static bool make_queue(struct verbs_node_port *port, struct verbs_node_offer *offer)
{
    uint32_t sends = offer->count + SENDS_BESIDES_BINDS;
    int entries = (int)(VERBS_RECEIVES_AHEAD + sends + COMPLETIONS_SPARE);
    uint32_t inline_bytes;
    offer->cq = ibv_create_cq(port->device.context, entries, offer, port->completions, 0);
    if (offer->cq == NULL || ibv_req_notify_cq(offer->cq, 0) != 0) {
        verbs_explain(&port->device, "cannot create a completion queue", errno);
        return false;
    }
    struct verbs_qp_attr attr = {.pd = offer->pd != NULL ? offer->pd : port->pd,
                                 .cq = offer->cq,
                                 .receives_cq = offer->cq,
                                 .sends = sends,
                                 .receives = VERBS_RECEIVES_AHEAD};
    offer->qp = verbs_qp_create(&attr, &inline_bytes);
    if (offer->qp == NULL)
        verbs_explain(&port->device, "cannot create a queue pair", errno);
    return offer->qp != NULL;
}

static bool make_keys(struct verbs_node_port *port, struct verbs_node_offer *offer)
{
    for (uint32_t i = 0; i < offer->count; i++) {
        struct verbs_grant *grant = &offer->grant[i];
        if (offer->windows) {
            grant->window = ibv_alloc_mw(port->pd, IBV_MW_TYPE_2);
        } else {
            unsigned access = remote_access(offer->rights) | IBV_ACCESS_LOCAL_WRITE;
            grant->mr = ibv_reg_mr(offer->pd, start_of(&grant->piece), grant->piece.length, access);
        }
        if (grant->window == NULL && grant->mr == NULL) {
            verbs_explain(&port->device, "cannot make a key for an importer", errno);
            return false;
        }
    }
    return true;
}

static bool take_send_buffer(struct verbs_node_port *port, struct verbs_node_offer *offer)
{
    offer->send_buffer = verbs_send_buffer_get(port);
    if (offer->send_buffer == NULL || offer->pd == NULL)
        return offer->send_buffer != NULL;
    offer->send_buffer_mr =
        ibv_reg_mr(offer->pd, offer->send_buffer->bytes, VERBS_MESSAGE_MAX, IBV_ACCESS_LOCAL_WRITE);
    if (offer->send_buffer_mr == NULL)
        verbs_explain(&port->device, "cannot register memory for a message", errno);
    return offer->send_buffer_mr != NULL;
}

/* Bytes beyond those that the exporter asked for do not count. */
static bool is_all_of_its_extents(const struct verbs_node_offer *offer)
{
    for (uint32_t i = 0; i < offer->count; i++) {
        const struct rsm_extent_piece *piece = &offer->grant[i].piece;
        if (piece->offset != 0 || piece->length != piece->extent->length)
            return false;
    }
    return true;
}

enum rsm_status verbs_grant_prepare(struct verbs_node_port *port, struct verbs_node_offer *offer)
{
    offer->windows = port->windows && (!port->windows_leak || is_all_of_its_extents(offer));
    if (!offer->windows) {
        offer->pd = ibv_alloc_pd(port->device.context);
        if (offer->pd == NULL) {
            verbs_explain(&port->device, "cannot make a protection domain", errno);
            return RSM_ST_NO_RESOURCES;
        }
    }
    bool made = take_send_buffer(port, offer) && make_queue(port, offer) && make_keys(port, offer);
    return made ? RSM_ST_OK : RSM_ST_NO_RESOURCES;
}

static bool bind_window(struct verbs_node_offer *offer, struct verbs_grant *grant)
{
    struct ibv_send_wr *bad;
    grant->key = ibv_inc_rkey(grant->window->rkey);
    struct ibv_send_wr wr = {
        .opcode = IBV_WR_BIND_MW,
        .bind_mw = {.mw = grant->window,
                    .rkey = grant->key,
                    .bind_info = {.mr = verbs_extent_of(grant->piece.extent)->mr,
                                  .addr = (uintptr_t)start_of(&grant->piece),
                                  .length = grant->piece.length,
                                  .mw_access_flags = remote_access(offer->rights)}},
    };
    return ibv_post_send(offer->qp, &wr, &bad) == 0;
}

/* Send the message in the send buffer. Work requests posted before have been executed when it goes
 * out. */
static bool send_from_buffer(struct verbs_node_offer *offer, const struct verbs_message *message)
{
    size_t length = verbs_message_encode(message, offer->send_buffer->bytes, VERBS_MESSAGE_MAX);
    struct ibv_send_wr *bad;
    struct ibv_sge piece = {
        .addr = (uintptr_t)offer->send_buffer->bytes,
        .length = (uint32_t)length,
        .lkey =
            (offer->send_buffer_mr != NULL ? offer->send_buffer_mr : offer->send_buffer->mr)->lkey};
    struct ibv_send_wr wr = {.wr_id = VERBS_SENT_MESSAGE,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
                             .sg_list = &piece,
                             .num_sge = 1};
    offer->sending = true;
    return length > 0 && ibv_post_send(offer->qp, &wr, &bad) == 0;
}

bool verbs_grant_send(struct verbs_node_offer *offer)
{
    struct verbs_message message = {.type = VERBS_GRANT, .count = offer->count};
    for (uint32_t i = 0; i < offer->count; i++) {
        struct verbs_grant *grant = &offer->grant[i];
        if (grant->window == NULL)
            grant->key = grant->mr->rkey;
        else if (!bind_window(offer, grant))
            return false;
        message.piece[i].address = (uintptr_t)start_of(&grant->piece);
        message.piece[i].key = grant->key;
    }
    return send_from_buffer(offer, &message);
}

bool verbs_credit_send(struct verbs_node_offer *offer)
{
    if (offer->sending || offer->uncredited < VERBS_SIGNALS_AHEAD / 2)
        return true;
    struct verbs_message message = {.type = VERBS_CREDIT, .credit = offer->uncredited};
    offer->uncredited = 0;
    return send_from_buffer(offer, &message);
}

bool verbs_receive_ahead(struct verbs_node_offer *offer, unsigned count)
{
    struct ibv_recv_wr *bad;
    struct ibv_recv_wr wr = {.num_sge = 0}; /* a signal is its immediate data alone */
    while (count-- > 0)
        if (ibv_post_recv(offer->qp, &wr, &bad) != 0)
            return false;
    return true;
}

/* These functions return what errno would be. */
static void complain(const char *what, int error)
{
    errno = error;
    if (error != 0)
        rsm_log_error("verbs: cannot %s: %m", what);
}

static void end_keys(struct verbs_node_offer *offer)
{
    for (uint32_t i = 0; i < offer->count; i++) {
        struct verbs_grant *grant = &offer->grant[i];
        if (grant->window != NULL)
            complain("free a memory window", ibv_dealloc_mw(grant->window));
        if (grant->mr != NULL)
            complain("end a registration", ibv_dereg_mr(grant->mr));
        grant->window = NULL;
        grant->mr = NULL;
    }
}

static void end_connection(struct verbs_node_port *port, struct verbs_node_offer *offer)
{
    if (offer->id != NULL)
        verbs_deferred_disconnect(port, offer->id, offer->unconfirmed);
    offer->id = NULL;
}

void verbs_grant_end(struct verbs_node_port *port, struct verbs_node_offer *offer)
{
    if (offer->preparing) { /* what the thread makes is ended when it is done */
        atomic_store(&offer->unwanted, true);
        end_connection(port, offer);
        return;
    }
    if (offer->qp != NULL)
        verbs_qp_stop(offer->qp);
    end_keys(offer);
    if (offer->qp != NULL)
        complain("destroy a queue pair", ibv_destroy_qp(offer->qp));
    offer->qp = NULL;
    end_connection(port, offer);
    if (offer->cq != NULL)
        complain("destroy a completion queue", ibv_destroy_cq(offer->cq));
    offer->cq = NULL;
    if (offer->send_buffer_mr != NULL)
        complain("end a registration", ibv_dereg_mr(offer->send_buffer_mr));
    offer->send_buffer_mr = NULL;
    if (offer->pd != NULL)
        complain("free a protection domain", ibv_dealloc_pd(offer->pd));
    offer->pd = NULL;
    if (offer->send_buffer != NULL)
        verbs_send_buffer_put(port, offer->send_buffer);
    offer->send_buffer = NULL;
}
