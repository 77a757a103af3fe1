/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a connection with an offer, and ending it. Every step ends within the configured time. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "transport/verbs/import/import.h"
#include "transport/verbs/common/manager.h"

enum { COMPLETIONS_SPARE = 8, REJECTED_BY_NODE = 28 /* the consumer's reason, in every fabric */ };

/* A connection in the making. */
struct attempt {
    struct verbs_conn *conn;
    struct verbs_offer offer;
    struct verbs_path path;
    int64_t until;
    const char *step;
};

static int time_left(const struct attempt *attempt)
{
    return rsm_deadline_left_ms(attempt->until);
}

static enum rsm_status status_of_event(const struct rdma_cm_event *event)
{
    /* The node refuses a token that is not (or no longer) good: the segment has gone. */
    if (event->event == RDMA_CM_EVENT_DISCONNECTED ||
        (event->event == RDMA_CM_EVENT_REJECTED && event->status == REJECTED_BY_NODE))
        return RSM_ST_ABORTED;
    return RSM_ST_UNREACHABLE;
}

/* Wait for the answer to a step. The answer to the connection request sets *accept_data. */
static enum rsm_status await(struct attempt *attempt, enum rdma_cm_event_type wanted,
                             struct verbs_accept_data *accept_data)
{
    struct rdma_event_channel *events = attempt->conn->events;
    struct rdma_cm_event *event;
    while (rdma_get_cm_event(events, &event) != 0) {
        struct pollfd fd = {.fd = events->fd, .events = POLLIN};
        int left = time_left(attempt);
        if ((errno != EAGAIN && errno != EINTR) || left == 0)
            return RSM_ST_UNREACHABLE;
        poll(&fd, 1, left);
    }
    enum rsm_status status = event->event == wanted ? RSM_ST_OK : status_of_event(event);
    if (status == RSM_ST_OK && accept_data != NULL &&
        !verbs_accept_data_decode(event->param.conn.private_data,
                                  event->param.conn.private_data_len, accept_data))
        status = RSM_ST_PROTOCOL;
    if (status != RSM_ST_OK)
        rsm_log_debug("verbs: %s: %s, status %d", attempt->step, rdma_event_str(event->event),
                      event->status);
    rdma_ack_cm_event(event);
    return status;
}

static enum rsm_status find_node(struct attempt *attempt)
{
    struct verbs_conn *conn = attempt->conn;
    struct sockaddr_storage own = conn->port->device.address;
    attempt->step = "looking whether the own port has a link";
    if (!verbs_device_active(&conn->port->device))
        return RSM_ST_UNREACHABLE;
    attempt->step = "finding the node's address";
    if (rdma_resolve_addr(conn->id, (struct sockaddr *)&own,
                          (struct sockaddr *)&attempt->offer.address, time_left(attempt)) != 0)
        return RSM_ST_UNREACHABLE;
    enum rsm_status status = await(attempt, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
    if (status != RSM_ST_OK)
        return status;
    attempt->step = "finding a route to the node";
    if (conn->id->verbs != conn->port->device.context ||
        rdma_resolve_route(conn->id, time_left(attempt)) != 0)
        return RSM_ST_UNREACHABLE;
    return await(attempt, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
}

/* Make a completion queue with a non-blocking channel. */
static bool make_completions(struct verbs_conn *conn, int entries,
                             struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
    struct ibv_context *context = conn->port->device.context;
    *channel = ibv_create_comp_channel(context);
    if (*channel != NULL)
        (*channel)->fd = rsmcore_fd_place((*channel)->fd);
    if (*channel == NULL ||
        fcntl((*channel)->fd, F_SETFL, fcntl((*channel)->fd, F_GETFL) | O_NONBLOCK) != 0)
        return false;
    *cq = ibv_create_cq(context, entries + COMPLETIONS_SPARE, NULL, *channel, 0);
    if (*cq == NULL)
        verbs_explain(&conn->port->device, "cannot create a completion queue", errno);
    return *cq != NULL;
}

static enum rsm_status make_queue(struct attempt *attempt)
{
    struct verbs_conn *conn = attempt->conn;
    struct verbs_port *port = conn->port;
    attempt->step = "making a queue pair";
    if (!make_completions(conn, VERBS_SEND_DEPTH + VERBS_ACK_DEPTH, &conn->send_channel,
                          &conn->cq) ||
        !make_completions(conn, VERBS_RECV_DEPTH, &conn->recv_channel, &conn->recv_cq))
        return RSM_ST_NO_RESOURCES;
    struct verbs_qp_attr attr = {.pd = port->pd,
                                 .cq = conn->cq,
                                 .receives_cq = conn->recv_cq,
                                 .sends = VERBS_SEND_DEPTH + VERBS_ACK_DEPTH,
                                 .receives = VERBS_RECV_DEPTH,
                                 .inline_bytes = port->options.inline_bytes};
    conn->qp = verbs_qp_create(&attr, &conn->inline_bytes);
    if (conn->qp == NULL) {
        verbs_explain(&port->device, "cannot create a queue pair", errno);
        return RSM_ST_NO_RESOURCES;
    }
    if (conn->inline_bytes > port->options.inline_bytes)
        conn->inline_bytes = port->options.inline_bytes;
    return RSM_ST_OK;
}

static bool receive_ahead(struct verbs_conn *conn)
{
    for (unsigned i = 0; i < VERBS_RECV_DEPTH; i++)
        if (!verbs_receive_post(conn, i))
            return false;
    return true;
}

static enum rsm_status ask(struct attempt *attempt)
{
    struct verbs_conn *conn = attempt->conn;
    uint8_t hello_bytes[VERBS_HELLO_BYTES];
    struct verbs_hello hello = {.mtu = (uint16_t)attempt->path.mtu};
    struct verbs_accept_data accept_data;
    attempt->step = "connecting";
    memcpy(hello.token, attempt->offer.token, sizeof hello.token);
    verbs_hello_encode(&hello, hello_bytes);
    struct rdma_conn_param param =
        verbs_conn_param(conn->qp, &attempt->path, hello_bytes, sizeof hello_bytes);
    if (verbs_qp_modify(conn->id, conn->qp, IBV_QPS_INIT, &attempt->path) != 0 ||
        !verbs_arm_receive_channel(conn) || !receive_ahead(conn) ||
        rdma_connect(conn->id, &param) != 0)
        return RSM_ST_NO_RESOURCES;
    enum rsm_status status = await(attempt, RDMA_CM_EVENT_CONNECT_RESPONSE, &accept_data);
    if (status != RSM_ST_OK)
        return status;
    attempt->path.mtu = accept_data.mtu;
    conn->can_signal = (accept_data.capabilities & VERBS_CAP_SIGNAL_IMPORTER) != 0;
    if (verbs_qp_modify(conn->id, conn->qp, IBV_QPS_RTR, &attempt->path) == 0 &&
        verbs_qp_modify(conn->id, conn->qp, IBV_QPS_RTS, &attempt->path) == 0 &&
        rdma_establish(conn->id) == 0)
        return RSM_ST_OK;
    /* The node has changed its mind, and this is how. */
    status = await(attempt, RDMA_CM_EVENT_DISCONNECTED, NULL);
    return status == RSM_ST_OK ? RSM_ST_ABORTED : status;
}

/* What needs neither the offer nor the node. */
static enum rsm_status furnish(struct verbs_conn *conn)
{
    struct ibv_port_attr attr;
    conn->bounce = verbs_bounce_get(conn->port);
    conn->events = rdma_create_event_channel();
    if (conn->events != NULL)
        conn->events->fd = rsmcore_fd_place(conn->events->fd);
    if (conn->bounce == NULL || conn->events == NULL ||
        fcntl(conn->events->fd, F_SETFL, fcntl(conn->events->fd, F_GETFL) | O_NONBLOCK) != 0 ||
        rdma_create_id(conn->events, &conn->id, NULL, RDMA_PS_TCP) != 0)
        return RSM_ST_NO_RESOURCES;
    if (ibv_query_port(conn->port->device.context, conn->port->device.port_num, &attr) != 0)
        return RSM_ST_NO_RESOURCES;
    conn->max_message = attr.max_msg_sz;
    return RSM_ST_OK;
}

static bool is_granted(const struct verbs_conn *conn, uint64_t unused)
{
    (void)unused;
    return conn->granted;
}

static enum rsm_status await_grant(struct attempt *attempt)
{
    struct verbs_conn *conn = attempt->conn;
    attempt->step = "waiting for the grant";
    pthread_mutex_lock(&conn->lock);
    bool granted = verbs_wait(conn, (struct verbs_wait){.over = is_granted, .receive = true});
    bool ended = conn->sendq.dead;
    pthread_mutex_unlock(&conn->lock);
    return granted ? RSM_ST_OK : ended ? RSM_ST_ABORTED : RSM_ST_UNREACHABLE;
}

static enum rsm_status establish(struct attempt *attempt)
{
    enum rsm_status status = furnish(attempt->conn);
    if (status == RSM_ST_OK)
        status = find_node(attempt);
    if (status == RSM_ST_OK)
        status = make_queue(attempt);
    if (status == RSM_ST_OK)
        status = ask(attempt);
    if (status == RSM_ST_OK)
        status = await_grant(attempt);
    return status;
}

static void unmake(struct verbs_conn *conn)
{
    struct rdma_cm_event *event;
    if (conn->qp != NULL)
        ibv_destroy_qp(conn->qp);
    verbs_works_end(conn);
    if (conn->cq != NULL)
        ibv_destroy_cq(conn->cq);
    if (conn->send_channel != NULL)
        ibv_destroy_comp_channel(conn->send_channel);
    if (conn->recv_cq != NULL)
        ibv_destroy_cq(conn->recv_cq);
    if (conn->recv_channel != NULL)
        ibv_destroy_comp_channel(conn->recv_channel);
    if (conn->events != NULL) {
        while (rdma_get_cm_event(conn->events, &event) == 0)
            rdma_ack_cm_event(event);
        if (conn->id != NULL)
            rdma_destroy_id(conn->id);
        rdma_destroy_event_channel(conn->events);
    }
    if (conn->bounce != NULL)
        verbs_bounce_put(conn->port, conn->bounce);
    pthread_cond_destroy(&conn->progress);
    pthread_mutex_destroy(&conn->lock);
    free(conn);
}

static struct verbs_conn *make(struct verbs_port *port)
{
    struct verbs_conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL)
        return NULL;
    conn->conn.caps = port->base.caps;
    conn->port = port;
    conn->credit = VERBS_SIGNALS_AHEAD;
    conn->spin_ns = (uint64_t)port->spin_us * 1000u;
    conn->slot_bytes = port->options.bounce / VERBS_BOUNCE_SLOTS / 64 * 64;
    pthread_mutex_init(&conn->lock, NULL);
    rsm_cond_init(&conn->progress);
    return conn;
}

static void take_pieces(struct verbs_conn *conn, const struct verbs_offer *offer)
{
    uint64_t end = 0;
    conn->count = offer->count;
    for (uint32_t i = 0; i < offer->count; i++) {
        end += offer->length[i];
        conn->piece[i].end = end;
    }
}

enum rsm_status verbs_connect(struct verbs_port *port, const struct rsm_offer *offer, uint64_t size,
                              uint32_t rights, struct rsm_conn **conn)
{
    struct attempt attempt = {.path = port->path, .until = rsm_deadline(port->options.timeout_ms)};
    if ((rights & ~(RSM_RIGHT_READ | RSM_RIGHT_WRITE)) != 0)
        return RSM_ST_INVALID;
    if (offer->fd_count != 0 || offer->blob_len > RSM_OFFER_MAX_BLOB)
        return RSM_ST_PROTOCOL;
    enum rsm_status status =
        verbs_offer_decode(offer->blob, offer->blob_len, size, rights, &attempt.offer);
    if (status != RSM_ST_OK)
        return status;
    attempt.conn = make(port);
    if (attempt.conn == NULL)
        return RSM_ST_NO_MEMORY;
    attempt.conn->rights = rights;
    take_pieces(attempt.conn, &attempt.offer);
    attempt.step = "preparing";
    status = establish(&attempt);
    if (status == RSM_ST_UNREACHABLE)
        verbs_manager_report(&port->device);
    if (status != RSM_ST_OK) {
        char where[VERBS_WHERE_TEXT];
        rsm_log_warning("verbs: cannot connect to %s: failed when %s",
                        verbs_where(&attempt.offer.address, where), attempt.step);
        unmake(attempt.conn);
        return status;
    }
    *conn = &attempt.conn->conn;
    return RSM_ST_OK;
}

void verbs_disconnect(struct rsm_conn *conn)
{
    struct verbs_conn *verbs = verbs_of(conn);
    pthread_mutex_lock(&verbs->lock);
    verbs_wait_for(verbs, verbs->sendq.posted); /* what was put shall arrive */
    pthread_mutex_unlock(&verbs->lock);
    rdma_disconnect(verbs->id);
    unmake(verbs);
}
