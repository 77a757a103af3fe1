/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals of the exporter to one importer: a send without a byte, whose immediate data says how
 * many. What the exporter stored before is in the memory of this host by then, and that is where
 * every read of the importer looks; so the signals need not wait for anything.
 *
 * The importer has a receive posted for one. It posts the next before it says that it has taken the
 * former, so nothing of rsmd or of the adapter ever waits for an importer that is slow or stopped:
 * the count goes on in rsmd's relay.
 */
#include <arpa/inet.h>
#include <sys/eventfd.h>

#include "base/log.h"
#include "transport/verbs/node/node.h"

static enum rsm_status send_signals(struct rsm_node_port *base, struct rsm_node_offer *made,
                                    const struct rsm_signals *signals)
{
    struct verbs_node_port *port = verbs_node_port_of(base);
    struct verbs_node_offer *offer = verbs_node_offer_of(made);
    struct ibv_send_wr *bad;
    /* Solicited: it wakes a sleeper at the other end, which credits do not. */
    struct ibv_send_wr wr = {.wr_id = VERBS_SENT_SIGNALS,
                             .opcode = IBV_WR_SEND_WITH_IMM,
                             .send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
                             .imm_data = htonl(verbs_signals_encode(signals))};
    if (offer->state == VERBS_LOST)
        return RSM_ST_UNREACHABLE;
    if (offer->state != VERBS_CONNECTED || !offer->signals_armed)
        return RSM_ST_UNSUPPORTED;
    if (offer->unacknowledged || offer->flying)
        return RSM_ST_BUSY;
    if (ibv_post_send(offer->qp, &wr, &bad) != 0) {
        rsm_log_debug("verbs: node %u: cannot post a signal: %m", offer->node);
        verbs_offer_lose(port, offer);
        eventfd_write(port->again, 1); /* the next dispatch reports it to rsmd */
        return RSM_ST_UNREACHABLE;
    }
    offer->unacknowledged = offer->flying = true;
    return RSM_ST_OK;
}

/* Signals that have arrived reach the importer before the end of the connection. No other
 * completion matters any more. */
static bool signals_arrived(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    struct verbs_node_offer *offer = verbs_node_offer_of(made);
    struct ibv_wc wc;
    (void)port;
    for (int i = 0; i < VERBS_RECEIVES_AHEAD && offer->flying && offer->cq != NULL &&
                    ibv_poll_cq(offer->cq, 1, &wc) > 0;
         i++)
        if (wc.status == IBV_WC_SUCCESS && wc.wr_id == VERBS_SENT_SIGNALS)
            offer->flying = false;
    return !offer->flying;
}

const struct rsm_node_signal_ops verbs_node_signal_ops = {
    .size = sizeof(struct rsm_node_signal_ops),
    .send = send_signals,
    .arrived = signals_arrived,
};
