/* SPDX-License-Identifier: BSD-3-Clause */
/* Post work requests, poll completions, and wait. Every request is signalled, so that each
 * completion shows the progress of the connection. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <time.h>

#include "base/clock.h"
#include "base/fence.h"
#include "base/log.h"
#include "transport/verbs/import/import.h"

enum {
    POLL_AT_ONCE = 16,
    FLUSH_TRIES = 100000,
    ARRIVAL_NS = 200000,   /* between polls for messages of the node, while waiting for one */
    SPIN_NS_MAX = 2000000, /* a thread may keep its processor for about so long anyway */
    EVENT_NS = 300000000,  /* an event of the connection manager may wait for its reader so long */
};

/* After this nothing of the connection touches local memory any more: what was under way has been
 * flushed, or the device does not answer at all. */
void verbs_fail(struct verbs_conn *conn, const char *why)
{
    struct ibv_wc wc[POLL_AT_ONCE];
    if (conn->sendq.dead)
        return;
    rsm_log_warning("verbs: connection lost: %s", why);
    uint64_t flying = verbs_sendq_outstanding(&conn->sendq);
    verbs_sendq_fail(&conn->sendq);
    rsm_conn_failed(&conn->conn);
    atomic_store(&conn->failed, true);
    verbs_qp_stop(conn->qp);
    for (int tries = 0; tries < FLUSH_TRIES && flying > 0; tries++) {
        int count = ibv_poll_cq(conn->cq, POLL_AT_ONCE, wc);
        if (count > 0)
            flying -= (uint64_t)count < flying ? (uint64_t)count : flying;
    }
    pthread_cond_broadcast(&conn->progress);
}

static void take_completion(struct verbs_conn *conn, const struct ibv_wc *wc)
{
    if (conn->sendq.dead)
        return;
    if (wc->status != IBV_WC_SUCCESS)
        verbs_fail(conn, ibv_wc_status_str(wc->status));
    else
        verbs_sendq_completed(&conn->sendq, wc->wr_id);
}

static bool poll_some(struct verbs_conn *conn)
{
    struct ibv_wc wc[POLL_AT_ONCE];
    if (conn->sendq.dead)
        return false;
    int count = ibv_poll_cq(conn->cq, POLL_AT_ONCE, wc);
    for (int i = 0; i < count; i++)
        take_completion(conn, &wc[i]);
    if (count < 0)
        verbs_fail(conn, "the completion queue failed");
    return count > 0;
}

void verbs_poll(struct verbs_conn *conn)
{
    while (poll_some(conn))
        continue;
}

/* Whether an event of the connection manager ends the connection. A node that gives up before it
 * knows that the connection is established rejects it, although this side considers it
 * established. */
static bool is_end(enum rdma_cm_event_type type)
{
    return type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_REJECTED ||
           type == RDMA_CM_EVENT_UNREACHABLE || type == RDMA_CM_EVENT_CONNECT_ERROR ||
           type == RDMA_CM_EVENT_DEVICE_REMOVAL;
}

/* The connection manager knows of an end before a retry has run out. */
static void take_connection_events(struct verbs_conn *conn)
{
    struct rdma_cm_event *event;
    conn->event_since = 0;
    while (rdma_get_cm_event(conn->events, &event) == 0) {
        enum rdma_cm_event_type type = event->event;
        rdma_ack_cm_event(event);
        if (is_end(type))
            verbs_fail(conn, rdma_event_str(type));
    }
}

static void take_completion_events(struct verbs_conn *conn)
{
    struct ibv_cq *cq;
    void *unused;
    while (ibv_get_cq_event(conn->send_channel, &cq, &unused) == 0)
        ibv_ack_cq_events(cq, 1);
}

/* Sleep until something happens on the connection, on behalf of all its threads. */
static void sleep_for_all(struct verbs_conn *conn, uint64_t until)
{
    struct pollfd fds[] = {{.fd = conn->send_channel->fd, .events = POLLIN},
                           {.fd = conn->events->fd, .events = POLLIN}};
    if (ibv_req_notify_cq(conn->cq, 0) != 0) {
        verbs_fail(conn, "the completion queue failed");
        return;
    }
    if (poll_some(conn)) /* what came before the request is not notified */
        return;
    /* librdmacm allocates for each event, so that the mapping engine cannot take any. It notes when
     * it has seen one, and looks no more: poll() would not sleep. */
    bool takes = verbs_may_allocate();
    nfds_t watched = takes || conn->event_since == 0 ? 2 : 1;
    uint64_t now = (uint64_t)rsm_clock_ns();
    if (watched == 1 && conn->event_since + EVENT_NS < until)
        until = conn->event_since + EVENT_NS;
    uint64_t left = until > now ? until - now : 0;
    const struct timespec time = rsm_timespec((int64_t)left);
    conn->has_sleeper = true;
    pthread_mutex_unlock(&conn->lock);
    int ready = ppoll(fds, watched, &time, NULL);
    pthread_mutex_lock(&conn->lock);
    conn->has_sleeper = false;
    if (ready > 0 && fds[0].revents != 0)
        take_completion_events(conn);
    if (ready > 0 && fds[1].revents != 0) { /* 0 if it was not watched */
        verbs_poll(conn);                   /* what was done before the end was done */
        if (takes)
            take_connection_events(conn);
        else
            conn->event_since = (uint64_t)rsm_clock_ns();
    }
    pthread_cond_broadcast(&conn->progress);
}

static void sleep_until(struct verbs_conn *conn, uint64_t until)
{
    if (!conn->has_sleeper) {
        sleep_for_all(conn, until);
        return;
    }
    const struct timespec time = rsm_timespec((int64_t)until);
    pthread_cond_timedwait(&conn->progress, &conn->lock, &time);
}

/* Poll again in a moment. After a while, yield the processor. */
static void spin(struct verbs_conn *conn, uint64_t waited)
{
    bool yielding = waited >= conn->port->spin_us * (uint64_t)RSM_NS_PER_US;
    pthread_mutex_unlock(&conn->lock);
    if (yielding)
        sched_yield();
    else
        rsm_pause();
    pthread_mutex_lock(&conn->lock);
}

/* A sleep ended after that much waiting. Where it was not worth while, the next wait spins for
 * longer; where answers take long anyway, it does not. */
static void learn_spin(struct verbs_conn *conn, uint64_t waited)
{
    if (!conn->port->spin_adapts)
        return;
    if (waited >= SPIN_NS_MAX)
        conn->spin_ns = conn->port->spin_us * (uint64_t)RSM_NS_PER_US;
    else
        conn->spin_ns = 2 * waited < SPIN_NS_MAX ? 2 * waited : SPIN_NS_MAX;
}

/* Whether an event that the mapping engine could not take means the end of the connection: nothing
 * has completed since. The adapter's retries would report the same seconds later. */
static bool has_ended(const struct verbs_conn *conn, uint64_t now, uint64_t start)
{
    return conn->event_since != 0 && !verbs_may_allocate() && now - conn->event_since > EVENT_NS &&
           now - start > EVENT_NS;
}

bool verbs_wait(struct verbs_conn *conn, struct verbs_wait wait)
{
    uint64_t timeout = conn->port->options.timeout_ms * (uint64_t)RSM_NS_PER_MS;
    uint64_t start = 0;
    uint64_t come = 0;
    while (!conn->sendq.dead && !wait.over(conn, wait.number)) {
        if (poll_some(conn) || (wait.receive && verbs_poll_receives(conn)))
            continue; /* most often, and then the time is not asked for */
        uint64_t now = (uint64_t)rsm_clock_ns();
        /* Another thread may have polled what this one waits for. */
        if (start == 0 || conn->sendq.completed + conn->received != come) {
            come = conn->sendq.completed + conn->received;
            start = now;
        }
        if (wait.until != 0 && now >= wait.until)
            break;
        if (now - start > timeout) {
            if (verbs_sendq_outstanding(&conn->sendq) == 0)
                break; /* the fabric owes no answer: the node alone is slow */
            verbs_fail(conn, "the peer does not answer");
        } else if (has_ended(conn, now, start)) {
            verbs_fail(conn, "the connection manager told of an end");
        } else if (now - start < conn->spin_ns) {
            spin(conn, now - start);
        } else if (wait.receive) {
            /* Notifications of recv_cq are for threads that wait for signals. */
            sleep_until(conn, now + ARRIVAL_NS);
        } else {
            uint64_t end = start + timeout + (uint64_t)RSM_NS_PER_MS;
            sleep_until(conn, wait.until != 0 && wait.until < end ? wait.until : end);
            learn_spin(conn, (uint64_t)rsm_clock_ns() - start);
        }
    }
    return wait.over(conn, wait.number);
}

static bool has_completed(const struct verbs_conn *conn, uint64_t number)
{
    return conn->sendq.completed >= number;
}

bool verbs_wait_for(struct verbs_conn *conn, uint64_t number)
{
    return has_completed(conn, number) ||
           verbs_wait(conn, (struct verbs_wait){.over = has_completed, .number = number});
}

static bool has_room(const struct verbs_conn *conn, uint64_t count)
{
    return verbs_sendq_outstanding(&conn->sendq) + count <= VERBS_SEND_DEPTH;
}

uint64_t verbs_post(struct verbs_conn *conn, struct verbs_wr_list *chain)
{
    struct verbs_wait room = {.over = has_room, .number = chain->count};
    struct ibv_send_wr *bad;
    uint32_t count = chain->count;
    chain->count = 0;
    if (!has_room(conn, room.number))
        verbs_wait(conn, room);
    if (conn->sendq.dead)
        return 0;
    if (count == 0)
        return conn->sendq.posted;
    for (uint32_t i = 0; i < count; i++) {
        chain->wr[i].wr_id = conn->sendq.posted + i + 1;
        chain->wr[i].send_flags |= IBV_SEND_SIGNALED;
        chain->wr[i].next = i + 1 < count ? &chain->wr[i + 1] : NULL;
    }
    int error = ibv_post_send(conn->qp, chain->wr, &bad);
    uint64_t last = verbs_sendq_posted(&conn->sendq, count);
    if (error != 0) {
        verbs_fail(conn, "the device refused a work request");
        return 0;
    }
    return last;
}

void verbs_post_immediate(struct verbs_conn *conn, uint32_t immediate)
{
    struct ibv_send_wr *bad;
    struct ibv_send_wr wr = {.wr_id = conn->sendq.posted + 1,
                             .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                             .send_flags = IBV_SEND_SIGNALED,
                             .imm_data = htonl(immediate)};
    verbs_poll(conn);
    if (conn->sendq.dead)
        return;
    /* The node has answered all of them but the latest, if it plays fair. */
    if (verbs_sendq_outstanding(&conn->sendq) >= VERBS_SEND_DEPTH + VERBS_ACK_DEPTH) {
        verbs_fail(conn, "the node broke the protocol");
        return;
    }
    int error = ibv_post_send(conn->qp, &wr, &bad);
    verbs_sendq_posted(&conn->sendq, 1);
    if (error != 0)
        verbs_fail(conn, "the device refused a work request");
}

int verbs_bounce_slot_find(const struct verbs_conn *conn)
{
    for (int i = 0; i < VERBS_BOUNCE_SLOTS; i++)
        if (!conn->bounce_slot_held[i] && conn->bounce_slot_until[i] <= conn->sendq.completed)
            return i;
    return -1;
}
