/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fabric reports to the node: incoming connections, signals, losses. The upcalls to rsmd
 * come at the end of a step, when no offer is in use, because rsmd may revoke any offer when it is
 * notified of one. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/status.h"
#include "transport/verbs/common/manager.h"
#include "transport/verbs/node/node.h"

enum {
    BACKLOG = 128,
    AT_ONCE = 64, /* completions of one connection, events of one kind, in one go */
};

static bool no_waiting(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static bool watch(const struct verbs_node_port *port, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return no_waiting(fd) && epoll_ctl(port->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool listen_on(struct verbs_node_port *port)
{
    port->address = port->device.address;
    uint16_t wanted = htons((uint16_t)port->options.port);
    if (port->address.ss_family == AF_INET)
        ((struct sockaddr_in *)&port->address)->sin_port = wanted;
    else
        ((struct sockaddr_in6 *)&port->address)->sin6_port = wanted;
    if (rdma_create_id(port->events, &port->listener, NULL, RDMA_PS_TCP) != 0) {
        port->listener = NULL;
        return false;
    }
    if (rdma_bind_addr(port->listener, (struct sockaddr *)&port->address) != 0 ||
        rdma_listen(port->listener, BACKLOG) != 0)
        return false;
    uint16_t given = rdma_get_src_port(port->listener);
    if (port->address.ss_family == AF_INET)
        ((struct sockaddr_in *)&port->address)->sin_port = given;
    else
        ((struct sockaddr_in6 *)&port->address)->sin6_port = given;
    return true;
}

bool verbs_listen(struct verbs_node_port *port)
{
    char where[VERBS_WHERE_TEXT];
    port->epoll = epoll_create1(EPOLL_CLOEXEC);
    port->again = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    port->events = rdma_create_event_channel();
    port->completions = ibv_create_comp_channel(port->device.context);
    if (port->epoll < 0 || port->again < 0 || port->events == NULL || port->completions == NULL ||
        !watch(port, port->again) || !watch(port, port->events->fd) ||
        !watch(port, port->completions->fd) || !watch(port, port->device.context->async_fd)) {
        rsm_log_error("verbs: cannot watch the device: %m");
        return false;
    }
    if (!listen_on(port)) {
        rsm_log_error("verbs: cannot listen on %s: %m", verbs_where(&port->address, where));
        return false;
    }
    rsm_log_info("verbs: importers connect to %s", verbs_where(&port->address, where));
    verbs_manager_report(&port->device);
    return true;
}

void verbs_listen_end(struct verbs_node_port *port)
{
    if (port->listener != NULL)
        rdma_destroy_id(port->listener);
    if (port->completions != NULL)
        ibv_destroy_comp_channel(port->completions);
    if (port->events != NULL)
        rdma_destroy_event_channel(port->events);
    if (port->again >= 0)
        close(port->again);
    if (port->epoll >= 0)
        close(port->epoll);
}

int verbs_event_fd(struct rsm_node_port *base)
{
    const struct verbs_node_port *port = verbs_node_port_of(base);
    return port->epoll;
}

static uint32_t smaller_mtu(uint32_t first, uint32_t second)
{
    return first == 0 || (second != 0 && second < first) ? second : first;
}

/* Bring the queue pair up and say yes. */
static bool answer(struct verbs_node_port *port, struct verbs_node_offer *offer)
{
    struct verbs_path path = port->path;
    uint8_t bytes[VERBS_ACCEPT_DATA_BYTES];
    path.mtu = smaller_mtu(path.mtu, offer->mtu);
    struct verbs_accept_data accept_data = {.mtu = (uint16_t)path.mtu,
                                            .capabilities = VERBS_CAP_SIGNAL_IMPORTER};
    verbs_accept_data_encode(&accept_data, bytes);
    struct rdma_conn_param param = verbs_conn_param(offer->qp, &path, bytes, sizeof bytes);
    return verbs_qp_modify(offer->id, offer->qp, IBV_QPS_INIT, &path) == 0 &&
           verbs_receive_ahead(offer, VERBS_RECEIVES_AHEAD) &&
           verbs_qp_modify(offer->id, offer->qp, IBV_QPS_RTR, &path) == 0 &&
           verbs_qp_modify(offer->id, offer->qp, IBV_QPS_RTS, &path) == 0 &&
           rdma_accept(offer->id, &param) == 0;
}

static void refuse(struct verbs_node_port *port, struct verbs_node_offer *offer)
{
    rdma_reject(offer->id, NULL, 0);
    verbs_offer_lose(port, offer);
}

/* What the connection needs is there, or could not be made. */
static void on_prepared(struct verbs_node_port *port, struct verbs_node_offer *offer)
{
    offer->preparing = false;
    if (atomic_load(&offer->unwanted)) {
        verbs_grant_end(port, offer);
        if (offer->revoked)
            free(offer);
        return;
    }
    if (offer->prepared) {
        offer->unconfirmed = answer(port, offer);
        if (offer->unconfirmed)
            return;
        rsm_log_error("verbs: cannot accept the connection of node %u: %m", offer->node);
    }
    refuse(port, offer);
}

/* ... by a thread. */

static struct verbs_node_offer *offer_of(struct rsm_node_job *job)
{
    return RSM_CONTAINER_OF(job, struct verbs_node_offer, job);
}

static void run_preparation(struct rsm_node_job *job)
{
    struct verbs_node_offer *offer = offer_of(job);
    struct verbs_node_port *port = verbs_node_port_of(offer->base.port);
    if (!atomic_load(&offer->unwanted))
        offer->prepared = verbs_grant_prepare(port, offer) == RSM_ST_OK;
}

static void report_lost(struct verbs_node_port *port, const struct rsm_node_upcalls *up,
                        void *context);

static void preparation_done(struct rsm_node_job *job, const struct rsm_node_upcalls *up,
                             void *context)
{
    struct verbs_node_offer *offer = offer_of(job);
    struct verbs_node_port *port = verbs_node_port_of(offer->base.port);
    on_prepared(port, offer);
    report_lost(port, up, context);
}

static void prepare(struct verbs_node_port *port, struct verbs_node_offer *offer,
                    const struct rsm_node_upcalls *up, void *context)
{
    enum rsm_status status = RSM_ST_UNSUPPORTED;
    offer->job = (struct rsm_node_job){.run = run_preparation, .done = preparation_done};
    offer->preparing = true;
    if (up->size >= offsetof(struct rsm_node_upcalls, submit) + sizeof up->submit)
        status = up->submit(context, &offer->base, &offer->job);
    if (status == RSM_ST_OK)
        return;
    if (status == RSM_ST_UNSUPPORTED) { /* there are no threads */
        run_preparation(&offer->job);
        on_prepared(port, offer);
        return;
    }
    rsm_log_error("verbs: cannot prepare the connection of node %u: %s", offer->node,
                  rsmcore_status_text(status));
    offer->preparing = false;
    refuse(port, offer);
}

static void on_request(struct verbs_node_port *port, struct rdma_cm_id *id,
                       const struct verbs_hello *hello, bool understood,
                       const struct rsm_node_upcalls *up, void *context)
{
    struct verbs_node_offer *offer = understood ? verbs_offer_find(port, hello->token) : NULL;
    if (offer == NULL || offer->state != VERBS_WAITING) {
        /* Any process can cause this: only the 1st, 2nd, 4th, 8th... such connection is logged. */
        port->refused++;
        if ((port->refused & (port->refused - 1)) == 0)
            rsm_log_warning("verbs: refused a connection without a valid token, %llu so far",
                            (unsigned long long)port->refused);
        rdma_reject(id, NULL, 0);
        rdma_destroy_id(id);
        return;
    }
    offer->id = id;
    id->context = offer;
    offer->state = VERBS_CONNECTING;
    offer->mtu = hello->mtu;
    prepare(port, offer, up, context);
}

static void on_event(struct verbs_node_port *port, struct verbs_node_offer *offer,
                     enum rdma_cm_event_type type)
{
    if (type != RDMA_CM_EVENT_TIMEWAIT_EXIT && type != RDMA_CM_EVENT_ADDR_CHANGE)
        offer->unconfirmed = false;
    switch (type) {
    case RDMA_CM_EVENT_ESTABLISHED:
        /* One that is being prepared has not been accepted, and has nothing to send from yet. */
        if (offer->state != VERBS_CONNECTING || offer->preparing)
            return;
        offer->state = VERBS_CONNECTED;
        if (!verbs_grant_send(offer))
            verbs_offer_lose(port, offer);
        return;
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
    case RDMA_CM_EVENT_ADDR_CHANGE:
        return;
    default:
        rsm_log_debug("verbs: node %u: %s", offer->node, rdma_event_str(type));
        verbs_offer_lose(port, offer);
    }
}

/* One event of the connection manager; false if there is none. An event is acknowledged before its
 * id can be destroyed, which waits for that. */
static bool take_event(struct verbs_node_port *port, const struct rsm_node_upcalls *up,
                       void *context)
{
    struct rdma_cm_event *event;
    struct verbs_hello hello;
    if (rdma_get_cm_event(port->events, &event) != 0)
        return false;
    enum rdma_cm_event_type type = event->event;
    struct rdma_cm_id *id = event->id;
    bool understood = type == RDMA_CM_EVENT_CONNECT_REQUEST &&
                      verbs_hello_decode(event->param.conn.private_data,
                                         event->param.conn.private_data_len, &hello);
    rdma_ack_cm_event(event);
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
        on_request(port, id, &hello, understood, up, context);
    else if (id == port->listener)
        rsm_log_error("verbs: listener: %s", rdma_event_str(type));
    else if (id->context != NULL)
        on_event(port, id->context, type);
    else if (type != RDMA_CM_EVENT_TIMEWAIT_EXIT && type != RDMA_CM_EVENT_ADDR_CHANGE)
        verbs_deferred_disconnect_event(port, id);
    return true;
}

/* Signals in the order of their arrival, equal ones together; and whether the importer has taken
 * the exporter's. */
struct runs {
    bool taken;
    unsigned count;
    struct {
        uint32_t signals;
        bool coalesced;
    } run[AT_ONCE];
};

static void add_signal(struct runs *runs, bool coalesced)
{
    if (runs->count == 0 || runs->run[runs->count - 1].coalesced != coalesced) {
        runs->run[runs->count].signals = 0;
        runs->run[runs->count++].coalesced = coalesced;
    }
    runs->run[runs->count - 1].signals++;
}

/* false: the importer has failed, or does what no importer does. */
static bool take_completion(struct verbs_node_offer *offer, const struct ibv_wc *wc,
                            struct runs *runs)
{
    if (wc->status != IBV_WC_SUCCESS) {
        rsm_log_debug("verbs: node %u: %s", offer->node, ibv_wc_status_str(wc->status));
        return false;
    }
    if (wc->opcode == IBV_WC_SEND) {
        *(wc->wr_id == VERBS_SENT_SIGNALS ? &offer->flying : &offer->sending) = false;
        return true;
    }
    uint32_t signal = ntohl(wc->imm_data);
    if (wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM)
        return false;
    if ((signal == VERBS_SIGNALS_ACK && offer->unacknowledged) ||
        (signal == VERBS_SIGNALS_ARM && !offer->signals_armed)) {
        offer->unacknowledged = false;
        offer->signals_armed = true;
        return verbs_receive_ahead(offer, 1);
    }
    if ((signal & ~VERBS_SIGNAL_COALESCE) != 1)
        return false;
    add_signal(runs, (signal & VERBS_SIGNAL_COALESCE) != 0);
    offer->uncredited++;
    return verbs_receive_ahead(offer, 1);
}

static void deliver(struct verbs_node_port *port, struct verbs_node_offer *offer,
                    const struct runs *runs, const struct rsm_node_upcalls *up, void *context)
{
    uint8_t token[VERBS_TOKEN_BYTES];
    memcpy(token, offer->token, sizeof token);
    for (unsigned i = 0; i < runs->count && verbs_offer_find(port, token) == offer; i++)
        up->signalled(context, &offer->base, runs->run[i].signals, runs->run[i].coalesced);
    if (runs->taken && verbs_offer_find(port, token) == offer &&
        up->size >= offsetof(struct rsm_node_upcalls, taken) + sizeof up->taken)
        up->taken(context, &offer->base);
}

/* What has completed on one connection, but not more than the others can wait for. */
static void drain(struct verbs_node_port *port, struct verbs_node_offer *offer,
                  const struct rsm_node_upcalls *up, void *context)
{
    struct ibv_wc wc[AT_ONCE];
    struct runs runs = {.count = 0};
    if (offer->cq == NULL)
        return;
    bool unconfirmed = offer->unacknowledged || offer->flying;
    int count = ibv_poll_cq(offer->cq, AT_ONCE, wc);
    bool sound = count >= 0;
    for (int i = 0; i < count && sound; i++)
        sound = take_completion(offer, &wc[i], &runs);
    /* The completion of a send may come after the importer's acknowledgement. */
    runs.taken = sound && unconfirmed && !offer->unacknowledged && !offer->flying;
    sound = sound && verbs_credit_send(offer);
    offer->more = sound && count == AT_ONCE;
    if (offer->more)
        eventfd_write(port->again, 1);
    if (!sound)
        verbs_offer_lose(port, offer);
    deliver(port, offer, &runs, up, context);
}

static bool take_completions(struct verbs_node_port *port, const struct rsm_node_upcalls *up,
                             void *context)
{
    struct ibv_cq *cq;
    void *offer;
    if (ibv_get_cq_event(port->completions, &cq, &offer) != 0)
        return false;
    ibv_ack_cq_events(cq, 1);
    if (ibv_req_notify_cq(cq, 0) != 0) /* before polling: later completions cause another event */
        verbs_offer_lose(port, offer);
    drain(port, offer, up, context);
    return true;
}

/* Connections that had more than was looked at. After an upcall the list is another. */
static void take_leftovers(struct verbs_node_port *port, const struct rsm_node_upcalls *up,
                           void *context)
{
    struct verbs_node_offer *offer;
    struct verbs_node_offer *next;
    eventfd_t ignored;
    if (eventfd_read(port->again, &ignored) != 0)
        return;
    for (offer = port->offers; offer != NULL; offer = next) {
        uint8_t token[VERBS_TOKEN_BYTES];
        next = offer->hh.next;
        if (!offer->more)
            continue;
        if (next != NULL)
            memcpy(token, next->token, sizeof token);
        drain(port, offer, up, context);
        if (next != NULL && verbs_offer_find(port, token) != next) {
            eventfd_write(port->again, 1);
            return;
        }
    }
}

static void on_queue_event(struct verbs_node_port *port, const struct ibv_qp *qp,
                           enum ibv_event_type type)
{
    for (struct verbs_node_offer *offer = port->offers; offer != NULL; offer = offer->hh.next) {
        if (offer->preparing || offer->qp != qp)
            continue;
        if (type == IBV_EVENT_COMM_EST)
            rdma_notify(offer->id, type);
        else if (type != IBV_EVENT_SQ_DRAINED && type != IBV_EVENT_PATH_MIG)
            verbs_offer_lose(port, offer);
        return;
    }
}

static void log_device_event(const struct verbs_node_port *port, enum ibv_event_type type)
{
    rsm_log_warning("verbs: device %s: %s", ibv_get_device_name(port->device.context->device),
                    ibv_event_type_str(type));
}

static bool take_device_event(struct verbs_node_port *port)
{
    struct ibv_async_event event;
    if (ibv_get_async_event(port->device.context, &event) != 0)
        return false;
    enum ibv_event_type type = event.event_type;
    const struct ibv_qp *qp = event.element.qp;
    ibv_ack_async_event(&event);
    switch (type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
        on_queue_event(port, qp, type);
        break;
    case IBV_EVENT_PORT_ACTIVE:
        log_device_event(port, type);
        verbs_manager_report(&port->device);
        verbs_deferred_disconnects_run(port);
        break;
    default:
        log_device_event(port, type);
    }
    return true;
}

static void report_lost(struct verbs_node_port *port, const struct rsm_node_upcalls *up,
                        void *context)
{
    struct verbs_node_offer *offer = port->offers;
    while (port->unreported > 0 && offer != NULL) {
        if (offer->state != VERBS_LOST || offer->loss_reported) {
            offer = offer->hh.next;
            continue;
        }
        offer->loss_reported = true;
        port->unreported--;
        up->lost(context, &offer->base);
        offer = port->offers; /* rsmd may have revoked any of them */
    }
}

void verbs_dispatch(struct rsm_node_port *base, const struct rsm_node_upcalls *up, void *context)
{
    struct verbs_node_port *port = verbs_node_port_of(base);
    for (int i = 0; i < AT_ONCE && take_device_event(port); i++)
        continue;
    for (int i = 0; i < AT_ONCE && take_event(port, up, context); i++)
        continue;
    for (int i = 0; i < AT_ONCE && take_completions(port, up, context); i++)
        continue;
    take_leftovers(port, up, context);
    report_lost(port, up, context);
}
