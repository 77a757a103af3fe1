/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the node: the grant, credits, and signals of the exporter. They have a separate
 * completion queue. Its channel reports only signals: it is armed for solicited completions, which
 * credits are not. The node sends the next signal after this one is acknowledged, which happens
 * after the channel is armed again.
 *
 * A thread that waits for a grant or for credits polls for it now and then (sendq.c).
 */
#include <arpa/inet.h>

#include "transport/verbs/import/import.h"

static uint8_t *message_at(const struct verbs_conn *conn, unsigned index)
{
    return conn->bounce->bytes + conn->port->options.bounce + index * VERBS_MESSAGE_MAX;
}

bool verbs_receive_post(struct verbs_conn *conn, unsigned index)
{
    struct ibv_recv_wr *bad;
    struct ibv_sge piece = {.addr = (uintptr_t)message_at(conn, index),
                            .length = VERBS_MESSAGE_MAX,
                            .lkey = conn->bounce->lkey};
    struct ibv_recv_wr wr = {.sg_list = &piece, .num_sge = 1};
    return ibv_post_recv(conn->qp, &wr, &bad) == 0;
}

static bool take_grant(struct verbs_conn *conn, const struct verbs_message *message)
{
    if (conn->granted || message->count != conn->count)
        return false;
    for (uint32_t i = 0; i < conn->count; i++) {
        conn->piece[i].address = message->piece[i].address;
        conn->piece[i].key = message->piece[i].key;
    }
    conn->granted = true;
    return true;
}

static bool take_message(struct verbs_conn *conn, unsigned index, uint32_t length)
{
    struct verbs_message message;
    if (length > VERBS_MESSAGE_MAX ||
        !verbs_message_decode(message_at(conn, index), length, &message))
        return false;
    if (message.type == VERBS_GRANT ? !take_grant(conn, &message)
                                    : message.credit > VERBS_SIGNALS_AHEAD - conn->credit)
        return false;
    conn->credit += message.credit;
    return true;
}

static bool take_signal(struct verbs_conn *conn, uint32_t immediate, uint32_t length)
{
    if (!conn->signals_armed || conn->signalled || conn->unacknowledged || length != 0 ||
        !verbs_signals_decode(immediate, &conn->signals))
        return false;
    conn->signalled = true;
    return true;
}

/* They complete in the order in which the receives were posted. What arrived before the connection
 * failed has arrived. */
static void take_receive(struct verbs_conn *conn, const struct ibv_wc *wc)
{
    if (wc->status != IBV_WC_SUCCESS) {
        verbs_fail(conn, ibv_wc_status_str(wc->status));
        return;
    }
    unsigned index = conn->received++ % VERBS_RECV_DEPTH;
    bool sound =
        wc->opcode == IBV_WC_RECV && ((wc->wc_flags & IBV_WC_WITH_IMM) != 0
                                          ? take_signal(conn, ntohl(wc->imm_data), wc->byte_len)
                                          : take_message(conn, index, wc->byte_len));
    if (!conn->sendq.dead && (!sound || !verbs_receive_post(conn, index)))
        verbs_fail(conn, "the node broke the protocol");
}

bool verbs_poll_receives(struct verbs_conn *conn)
{
    struct ibv_wc wc[VERBS_RECV_DEPTH];
    int count = ibv_poll_cq(conn->recv_cq, VERBS_RECV_DEPTH, wc);
    for (int i = 0; i < count; i++)
        take_receive(conn, &wc[i]);
    if (count < 0)
        verbs_fail(conn, "the completion queue failed");
    return count > 0;
}

bool verbs_arm_receive_channel(struct verbs_conn *conn)
{
    const int solicited_only = 1;
    return ibv_req_notify_cq(conn->recv_cq, solicited_only) == 0;
}

int verbs_signal_fd(struct rsm_conn *conn)
{
    const struct verbs_conn *verbs = verbs_of(conn);
    return verbs->can_signal ? verbs->recv_channel->fd : -1;
}

static int enter(struct verbs_conn *conn)
{
    int cancel = verbs_cancel_hold();
    pthread_mutex_lock(&conn->lock);
    return cancel;
}

static void leave(struct verbs_conn *conn, int cancel)
{
    pthread_mutex_unlock(&conn->lock);
    verbs_cancel_let_go(cancel);
}

enum rsm_status verbs_arm_signals(struct rsm_conn *conn)
{
    struct verbs_conn *verbs = verbs_of(conn);
    int cancel = enter(verbs);
    enum rsm_status status =
        verbs->can_signal && !verbs->signals_armed ? RSM_ST_OK : RSM_ST_UNSUPPORTED;
    if (status == RSM_ST_OK) {
        verbs->signals_armed = true;
        verbs_post_immediate(verbs, VERBS_SIGNALS_ARM);
    }
    leave(verbs, cancel);
    return status;
}

/* Whether a signal has arrived since the last call. Makes the descriptor not readable. */
static bool take_receive_event(struct verbs_conn *conn)
{
    struct ibv_cq *cq;
    void *unused;
    if (ibv_get_cq_event(conn->recv_channel, &cq, &unused) != 0)
        return false;
    ibv_ack_cq_events(cq, 1);
    return true;
}

enum rsm_status verbs_poll_signals(struct rsm_conn *conn, struct rsm_signals *taken)
{
    struct verbs_conn *verbs = verbs_of(conn);
    enum rsm_status status = RSM_ST_OK;
    *taken = (struct rsm_signals){.count = 0};
    int cancel = enter(verbs);
    if (take_receive_event(verbs)) {
        verbs_poll_receives(verbs);
        if (verbs->signalled) { /* also on a connection that has failed since */
            *taken = verbs->signals;
            verbs->signalled = false;
            verbs->unacknowledged = true;
        } else if (verbs->sendq.dead || !verbs_arm_receive_channel(verbs)) {
            status = RSM_ST_TRANSFER;
        }
    }
    leave(verbs, cancel);
    return status;
}

void verbs_acknowledge_signals(struct rsm_conn *conn)
{
    struct verbs_conn *verbs = verbs_of(conn);
    int cancel = enter(verbs);
    if (verbs->unacknowledged && !verbs->sendq.dead) {
        verbs->unacknowledged = false;
        if (verbs_arm_receive_channel(verbs)) /* first, so that the next is noticed */
            verbs_post_immediate(verbs, VERBS_SIGNALS_ACK);
        else
            verbs_fail(verbs, "the completion queue failed");
    }
    leave(verbs, cancel);
}
