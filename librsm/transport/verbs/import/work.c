/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers whose end is reported (struct rsm_completion_ops). The memory of a longer one is
 * registered for it alone, and moved from or to where it lies; as many work requests are posted as
 * there is room for, and the rest when the caller polls or waits. A short one, or one whose memory
 * cannot be registered, is put or got in the ordinary way.
 *
 * A write has ended when the device of the other side has acknowledged it: the bytes are in the
 * segment then, and it is what a barrier waits for, too. Works end in the order in which they were
 * submitted.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "transport/verbs/import/stream.h"

enum {
    TAKE_AT_ONCE = 16,
    READS_UNDER_WAY = VERBS_READ_WINDOW / VERBS_READ_MAX,
};

struct work {
    struct rsm_work asked;
    struct stream stream; /* the posted part of asked.transfer */
    struct ibv_mr *mr;    /* NULL: it was put or got */
    uint64_t last;        /* number of its latest request; 0: none yet */
    bool posted;          /* all of it */
    enum rsm_status status;
};

/* Guarded by the connection's lock, as is what points at it. */
struct verbs_works {
    struct work ring[RSM_WORK_MAX];
    uint32_t first, count;
    uint32_t reserved;               /* that are being submitted */
    uint64_t reads[READS_UNDER_WAY]; /* numbers of the latest ones, which go round */
    uint32_t next_read;
};

static struct work *work_at(struct verbs_works *works, uint32_t index)
{
    return &works->ring[(works->first + index) % RSM_WORK_MAX];
}

/* ------------------------------------------------------------------ progress, with the lock
 * held */

static bool has_room(const struct verbs_conn *conn, const struct work *work)
{
    const struct verbs_works *works = conn->works;
    return verbs_sendq_outstanding(&conn->sendq) < VERBS_SEND_DEPTH &&
           (!work->asked.read || works->reads[works->next_read] <= conn->sendq.completed);
}

static void post_fragment(struct verbs_conn *conn, struct work *work,
                          const struct fragment *fragment)
{
    struct verbs_works *works = conn->works;
    struct verbs_wr_list chain;
    chain.count = 1;
    chain.sge[0] = (struct ibv_sge){
        .addr = (uintptr_t)fragment->local, .length = fragment->length, .lkey = work->mr->lkey};
    chain.wr[0] =
        (struct ibv_send_wr){.opcode = work->asked.read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
                             .sg_list = &chain.sge[0],
                             .num_sge = 1,
                             .wr.rdma = {.remote_addr = fragment->address, .rkey = fragment->key}};
    work->last = verbs_post(conn, &chain);
    work->stream.at += fragment->length;
    if (work->asked.read) {
        works->reads[works->next_read] = work->last;
        works->next_read = (works->next_read + 1) % READS_UNDER_WAY;
    }
}

/* False: there is no room for all of it at the moment. */
static bool post_work(struct verbs_conn *conn, struct work *work)
{
    struct fragment fragment;
    while (!work->posted && !conn->sendq.dead) {
        if (!verbs_stream_next(&work->stream, &fragment))
            work->posted = true;
        else if (has_room(conn, work))
            post_fragment(conn, work, &fragment);
        else
            return false;
    }
    return true;
}

static void post_works(struct verbs_conn *conn)
{
    struct verbs_works *works = conn->works;
    uint32_t i = 0;
    while (i < works->count && post_work(conn, work_at(works, i)))
        i++;
}

static bool has_ended(const struct verbs_conn *conn, const struct work *work)
{
    return conn->sendq.dead || (work->posted && work->last <= conn->sendq.completed);
}

static enum rsm_status status_of(const struct verbs_conn *conn, const struct work *work)
{
    bool arrived = work->posted && work->last <= conn->sendq.completed;
    return work->status != RSM_ST_OK || arrived ? work->status : RSM_ST_TRANSFER;
}

static enum rsm_status reserve(struct verbs_conn *conn)
{
    enum rsm_status status = RSM_ST_OK;
    pthread_mutex_lock(&conn->lock);
    if (conn->works == NULL)
        conn->works = calloc(1, sizeof *conn->works);
    if (conn->works == NULL)
        status = RSM_ST_NO_MEMORY;
    else if (conn->works->count + conn->works->reserved == RSM_WORK_MAX)
        status = RSM_ST_BUSY;
    else
        conn->works->reserved++;
    pthread_mutex_unlock(&conn->lock);
    return status;
}

static struct ibv_mr *register_memory(const struct verbs_conn *conn, const struct rsm_work *asked)
{
    const struct rsm_transfer *transfer = &asked->transfer;
    if (transfer->length < conn->port->register_from)
        return NULL;
    return ibv_reg_mr(conn->port->pd, transfer->local, transfer->length,
                      asked->read ? IBV_ACCESS_LOCAL_WRITE : 0);
}

static enum rsm_status carry_out(struct rsm_conn *conn, const struct rsm_work *asked)
{
    const struct rsm_transfer *transfer = &asked->transfer;
    return asked->read ? verbs_get(conn, transfer->remote, transfer->local, transfer->length)
                       : verbs_put(conn, transfer->remote, transfer->local, transfer->length);
}

/* With the lock held. */
static void enter(struct verbs_conn *conn, const struct work *made)
{
    struct verbs_works *works = conn->works;
    struct work *work = work_at(works, works->count++);
    works->reserved--;
    *work = *made;
    work->stream = (struct stream){
        .conn = conn, .vec = &work->asked.transfer, .count = 1, .unit = conn->max_message};
    if (work->asked.read && work->stream.unit > VERBS_READ_MAX)
        work->stream.unit = VERBS_READ_MAX;
    if (work->mr == NULL) {
        work->posted = true;
        work->last = conn->sendq.posted;
    }
    verbs_poll(conn);
    post_works(conn);
}

static enum rsm_status submit(struct rsm_conn *base, const struct rsm_work *asked)
{
    struct verbs_conn *conn = verbs_of(base);
    int cancel = verbs_cancel_hold();
    enum rsm_status status = reserve(conn);
    if (status == RSM_ST_OK) {
        struct work made = {.asked = *asked, .mr = register_memory(conn, asked)};
        made.status = made.mr == NULL ? carry_out(base, asked) : RSM_ST_OK;
        pthread_mutex_lock(&conn->lock);
        enter(conn, &made);
        pthread_mutex_unlock(&conn->lock);
    }
    verbs_cancel_let_go(cancel);
    return status;
}

/* With the lock held: those that have ended, and the registrations that are of no more use. */
static unsigned take(struct verbs_conn *conn, struct rsm_completion *taken, unsigned max,
                     struct ibv_mr **mrs)
{
    struct verbs_works *works = conn->works;
    unsigned count = 0;
    if (works == NULL)
        return 0;
    verbs_poll(conn);
    post_works(conn);
    for (; count < max && works->count > 0 && has_ended(conn, work_at(works, 0)); count++) {
        const struct work *work = work_at(works, 0);
        mrs[count] = work->mr;
        taken[count] =
            (struct rsm_completion){.cookie = work->asked.cookie, .status = status_of(conn, work)};
        works->first = (works->first + 1) % RSM_WORK_MAX;
        works->count--;
    }
    return count;
}

static unsigned poll_all(struct rsm_conn *base, struct rsm_completion *taken, unsigned max)
{
    struct verbs_conn *conn = verbs_of(base);
    unsigned count = 0, more = TAKE_AT_ONCE;
    int cancel = verbs_cancel_hold();
    while (count < max && more == TAKE_AT_ONCE) {
        struct ibv_mr *mrs[TAKE_AT_ONCE];
        unsigned room = max - count < TAKE_AT_ONCE ? max - count : TAKE_AT_ONCE;
        pthread_mutex_lock(&conn->lock);
        more = take(conn, taken + count, room, mrs);
        pthread_mutex_unlock(&conn->lock);
        for (unsigned i = 0; i < more; i++)
            if (mrs[i] != NULL)
                ibv_dereg_mr(mrs[i]);
        count += more;
    }
    verbs_cancel_let_go(cancel);
    return count;
}

static bool has_completed(const struct verbs_conn *conn, uint64_t number)
{
    return conn->sendq.completed >= number;
}

/* With the lock held. */
static enum rsm_status wait_for_first(struct verbs_conn *conn, uint64_t until)
{
    for (;;) {
        struct verbs_works *works = conn->works;
        if (works == NULL || works->count == 0)
            return RSM_ST_NOT_FOUND;
        verbs_poll(conn);
        post_works(conn);
        const struct work *first = work_at(works, 0);
        if (has_ended(conn, first))
            return RSM_ST_OK;
        uint64_t next = conn->sendq.completed + 1;
        struct verbs_wait wait = {.over = has_completed, .until = until};
        /* What is not posted yet waits for room. */
        wait.number = first->posted && first->last > next ? first->last : next;
        if (!verbs_wait(conn, wait) && !conn->sendq.dead)
            return RSM_ST_TIMEOUT;
    }
}

static enum rsm_status wait_for_any(struct rsm_conn *base, int timeout_ms)
{
    struct verbs_conn *conn = verbs_of(base);
    uint64_t until = 0;
    if (timeout_ms >= 0)
        until = (uint64_t)rsm_deadline(timeout_ms);
    int cancel = verbs_cancel_hold();
    pthread_mutex_lock(&conn->lock);
    enum rsm_status status = wait_for_first(conn, until);
    pthread_mutex_unlock(&conn->lock);
    verbs_cancel_let_go(cancel);
    return status;
}

void verbs_works_end(struct verbs_conn *conn)
{
    struct verbs_works *works = conn->works;
    for (uint32_t i = 0; works != NULL && i < works->count; i++)
        if (work_at(works, i)->mr != NULL)
            ibv_dereg_mr(work_at(works, i)->mr);
    free(works);
    conn->works = NULL;
}

const struct rsm_completion_ops verbs_completion_ops = {
    .size = sizeof(struct rsm_completion_ops),
    .submit = submit,
    .poll = poll_all,
    .wait = wait_for_any,
};
