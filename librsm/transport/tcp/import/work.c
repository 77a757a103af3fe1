/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers whose end is reported (struct rsm_completion_ops). They leave in the order in which
 * they were submitted: reads are asked for while earlier ones are still being answered, and a write
 * is followed by a FLUSH of its own, whose answer says whether it has arrived. What is not sent yet
 * leaves when the caller polls or waits.
 *
 * A write waits until the reads before it have been answered: while rsm-tcpd waits to send what was
 * read it takes nothing.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "transport/tcp/import/batch.h"

struct work {
    struct rsm_work asked;
    size_t sent;   /* bytes that have been written, or asked for */
    uint32_t open; /* answers that are to come */
    enum rsm_status status;
};

/* Under the connection's lock. */
struct tcp_works {
    struct work ring[RSM_WORK_MAX];
    uint32_t first, count;
};

static struct work *work_at(struct tcp_works *works, uint32_t index)
{
    return &works->ring[(works->first + index) % RSM_WORK_MAX];
}

/* ------------------------------------------------------------------ progress, under the lock */

static bool is_sent(const struct work *work)
{
    return work->sent == work->asked.transfer.length;
}

/* False: no more can be asked for at the moment, or ever. */
static bool send_read(struct tcp_conn *conn, struct work *work)
{
    const struct rsm_transfer *transfer = &work->asked.transfer;
    while (!is_sent(work)) {
        size_t left = transfer->length - work->sent;
        const struct tcp_answer answer = {.length = left < TCP_PAYLOAD_MAX ? (uint32_t)left
                                                                           : TCP_PAYLOAD_MAX,
                                          .to = (uint8_t *)transfer->local + work->sent,
                                          .status = &work->status,
                                          .open = &work->open};
        if (!tcp_answers_have_room(conn, answer.length) ||
            tcp_ask(conn, transfer->remote + work->sent, &answer, 0) != RSM_ST_OK)
            return false;
        work->sent += answer.length;
    }
    return true;
}

/* What has failed before it is asked for first, so that a failure is this write's. */
static bool send_write(struct tcp_conn *conn, struct work *work)
{
    const struct rsm_transfer *transfer = &work->asked.transfer;
    struct tcp_batch batch;
    if (conn->answers.reads > 0 || conn->answers.count + 2 > TCP_ANSWERS_MAX ||
        tcp_ask_for_failures(conn) != RSM_ST_OK)
        return false;
    tcp_batch_init(&batch, conn);
    if (tcp_batch_write(&batch, transfer->remote, transfer->local, transfer->length, 0) !=
            RSM_ST_OK ||
        tcp_batch_send(&batch) != RSM_ST_OK)
        return false;
    const struct tcp_answer answer = {.status = &work->status, .open = &work->open};
    if (tcp_batch_flush(&batch, &answer) != RSM_ST_OK)
        return false;
    work->sent = transfer->length;
    return true;
}

static void send_works(struct tcp_conn *conn)
{
    struct tcp_works *works = conn->works;
    for (uint32_t i = 0; i < works->count && tcp_state(conn) == RSM_ST_OK; i++) {
        struct work *work = work_at(works, i);
        if (!is_sent(work) && !(work->asked.read ? send_read : send_write)(conn, work))
            return;
    }
}

static bool has_ended(struct tcp_conn *conn, const struct work *work)
{
    return (is_sent(work) && work->open == 0) || tcp_state(conn) != RSM_ST_OK;
}

static enum rsm_status status_of(const struct work *work)
{
    bool answered = is_sent(work) && work->open == 0;
    return work->status != RSM_ST_OK || answered ? work->status : RSM_ST_ABORTED;
}

/* What has come makes room for more. Once: a peer that answers at once must not keep a caller that
 * does not want to wait. */
static void go_on(struct tcp_conn *conn)
{
    send_works(conn);
    (void)tcp_answers_poll(conn);
    send_works(conn);
}

/* ------------------------------------------------------------------ operations */

static enum rsm_status enter(struct tcp_conn *conn, const struct rsm_work *asked)
{
    enum rsm_status status = tcp_state(conn);
    if (status != RSM_ST_OK)
        return status;
    if (conn->works == NULL)
        conn->works = calloc(1, sizeof *conn->works);
    if (conn->works == NULL)
        return RSM_ST_NO_MEMORY;
    if (conn->works->count == RSM_WORK_MAX)
        return RSM_ST_BUSY;
    *work_at(conn->works, conn->works->count++) = (struct work){.asked = *asked};
    go_on(conn);
    return RSM_ST_OK;
}

static enum rsm_status submit(struct rsm_conn *base, const struct rsm_work *asked)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    int cancellable = tcp_enter(conn);
    enum rsm_status status = enter(conn, asked);
    tcp_leave(conn, cancellable);
    return status;
}

static unsigned take(struct tcp_conn *conn, struct rsm_completion *taken, unsigned max)
{
    struct tcp_works *works = conn->works;
    unsigned count = 0;
    if (works == NULL)
        return 0;
    go_on(conn);
    for (; count < max && works->count > 0 && has_ended(conn, work_at(works, 0)); count++) {
        const struct work *work = work_at(works, 0);
        taken[count] =
            (struct rsm_completion){.cookie = work->asked.cookie, .status = status_of(work)};
        works->first = (works->first + 1) % RSM_WORK_MAX;
        works->count--;
    }
    return count;
}

static unsigned poll_all(struct rsm_conn *base, struct rsm_completion *taken, unsigned max)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    int cancellable = tcp_enter(conn);
    unsigned count = take(conn, taken, max);
    tcp_leave(conn, cancellable);
    return count;
}

/* Under the lock. */
static enum rsm_status wait_for_first(struct tcp_conn *conn, int64_t until)
{
    if (conn->works == NULL || conn->works->count == 0)
        return RSM_ST_NOT_FOUND;
    for (;;) {
        go_on(conn);
        if (has_ended(conn, work_at(conn->works, 0)))
            return RSM_ST_OK;
        int64_t overdue = tcp_answers_overdue(conn);
        enum rsm_status status =
            tcp_stream_await(&conn->channel, until < overdue ? until : overdue);
        if (status == RSM_ST_UNREACHABLE && until < overdue)
            return RSM_ST_TIMEOUT;
        if (status != RSM_ST_OK)
            (void)tcp_break_off(conn);
    }
}

static enum rsm_status wait_for_any(struct rsm_conn *base, int timeout_ms)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    int64_t until = timeout_ms < 0 ? RSM_DEADLINE_NEVER : rsm_deadline(timeout_ms);
    int cancellable = tcp_enter(conn);
    enum rsm_status status = wait_for_first(conn, until);
    tcp_leave(conn, cancellable);
    return status;
}

void tcp_works_end(struct tcp_conn *conn)
{
    free(conn->works);
    conn->works = NULL;
}

const struct rsm_completion_ops tcp_completion_ops = {
    .size = sizeof(struct rsm_completion_ops),
    .submit = submit,
    .poll = poll_all,
    .wait = wait_for_any,
};
