/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers. Memory of the program goes straight into the socket, and from it, or is sealed into
 * the connection's records, and opened from them. A connection's lock is held meanwhile, which no
 * other connection waits for. Nothing is allocated.
 */
#include "base/cancel.h"
#include "transport/tcp/import/batch.h"

/* ------------------------------------------------------------------ writes */

/* Whether a small write goes out with others, later. */
static bool collect(struct tcp_conn *conn, uint64_t offset, const void *src, size_t length,
                    unsigned width)
{
    const struct tcp_frame frame = tcp_write_frame(offset, length, width);
    if (tcp_state(conn) != RSM_ST_OK)
        return false;
    int cancellable = rsm_cancel_disable();
    bool collected = tcp_stage_add(conn, &frame, src);
    rsm_cancel_enable(cancellable);
    return collected;
}

/* A failure of an earlier write is counted, one of this write returned. */
static enum rsm_status write_bytes(struct rsm_conn *base, uint64_t offset, const void *src,
                                   size_t length, unsigned width)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    struct tcp_batch batch;
    int cancellable;
    if (length <= TCP_STAGED_PUT_MAX && collect(conn, offset, src, length, width))
        return RSM_ST_OK;
    enum rsm_status status = tcp_batch_begin(&batch, conn, &cancellable);
    if (status == RSM_ST_OK)
        status = tcp_batch_write(&batch, offset, src, length, width);
    if (status == RSM_ST_OK)
        status = tcp_batch_send(&batch);
    conn->dirty |= status == RSM_ST_OK;
    if (length <= TCP_STAGED_PUT_MAX)
        tcp_stage_sent_directly(conn);
    tcp_leave(conn, cancellable);
    return status;
}

enum rsm_status tcp_put(struct rsm_conn *conn, uint64_t offset, const void *src, size_t length)
{
    return write_bytes(conn, offset, src, length, 0);
}

enum rsm_status tcp_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                              unsigned width, size_t count)
{
    if (width != 1 && width != 2 && width != 4 && width != 8)
        return RSM_ST_INVALID;
    return write_bytes(conn, offset, src, width * count, width);
}

enum rsm_status tcp_putv(struct rsm_conn *base, const struct rsm_transfer *vec, unsigned count,
                         unsigned *done)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    struct tcp_batch batch;
    int cancellable;
    enum rsm_status status = tcp_batch_begin(&batch, conn, &cancellable);
    for (unsigned i = 0; i < count && status == RSM_ST_OK; i++)
        status = tcp_batch_write(&batch, vec[i].remote, vec[i].local, vec[i].length, 0);
    if (status == RSM_ST_OK)
        status = tcp_batch_send(&batch);
    conn->dirty |= status == RSM_ST_OK;
    *done = status == RSM_ST_OK ? count : 0; /* the connection is over, and with it all of them */
    tcp_leave(conn, cancellable);
    return status;
}

/* ------------------------------------------------------------------ completion */

static bool has_to_flush(struct tcp_conn *conn)
{
    return conn->dirty || conn->posted || tcp_stage_holds(conn);
}

/* Behind what is in the batch. */
static enum rsm_status send_flush(struct tcp_batch *batch)
{
    const struct tcp_answer counted = {.to = NULL};
    enum rsm_status status = tcp_batch_flush(batch, &counted);
    if (status == RSM_ST_OK)
        batch->conn->dirty = batch->conn->posted = false;
    return status;
}

static enum rsm_status flush(struct tcp_batch *batch)
{
    enum rsm_status status = send_flush(batch);
    return status == RSM_ST_OK ? tcp_settle(batch->conn) : status;
}

enum rsm_status tcp_ask_for_failures(struct tcp_conn *conn)
{
    struct tcp_batch batch;
    tcp_batch_init(&batch, conn);
    return has_to_flush(conn) ? send_flush(&batch) : RSM_ST_OK;
}

enum rsm_status tcp_complete(struct rsm_conn *base)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    struct tcp_batch batch;
    int cancellable;
    enum rsm_status status = tcp_batch_begin(&batch, conn, &cancellable);
    if (status == RSM_ST_OK && has_to_flush(conn))
        status = flush(&batch);
    else if (status == RSM_ST_OK && tcp_answers_hold_flush(conn))
        status = tcp_settle(conn);
    tcp_leave(conn, cancellable);
    return status;
}

/* Where the socket is full, tcp_complete() waits for room. */
void tcp_complete_begin(struct rsm_conn *base)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    struct tcp_batch batch;
    int cancellable;
    enum rsm_status status = tcp_batch_begin(&batch, conn, &cancellable);
    if (status == RSM_ST_OK && conn->answers.count < TCP_ANSWERS_MAX && has_to_flush(conn) &&
        tcp_stage_push(conn) && !tcp_stage_holds(conn) && tcp_stream_has_room(&conn->channel))
        (void)send_flush(&batch);
    tcp_leave(conn, cancellable);
}

enum rsm_status tcp_put_complete(struct rsm_conn *base, uint64_t offset, const void *src,
                                 size_t length)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    struct tcp_batch batch;
    int cancellable;
    enum rsm_status status = tcp_batch_begin(&batch, conn, &cancellable);
    if (status == RSM_ST_OK)
        status = tcp_batch_write(&batch, offset, src, length, 0);
    if (status == RSM_ST_OK)
        status = flush(&batch);
    tcp_leave(conn, cancellable);
    return status;
}

void tcp_drain(struct tcp_conn *conn)
{
    int cancellable = tcp_enter(conn);
    if (tcp_state(conn) == RSM_ST_OK)
        (void)tcp_send_parts(conn, NULL, 0);
    tcp_leave(conn, cancellable);
}

/* The stream is in order, and rsm-tcpd carries it out so. */
enum rsm_status tcp_order(struct rsm_conn *conn)
{
    return tcp_state(tcp_conn_of(conn));
}

enum rsm_status tcp_health(struct rsm_conn *conn)
{
    return tcp_state(tcp_conn_of(conn));
}

enum rsm_status tcp_post(struct rsm_conn *base, bool coalesce)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    uint8_t bytes[TCP_FRAME_BYTES];
    const struct tcp_frame frame = {.type = TCP_SIGNAL, .flags = coalesce ? TCP_FLAG_COALESCED : 0};
    const struct iovec part = tcp_frame_part(&frame, bytes);
    int cancellable = tcp_enter(conn);
    enum rsm_status status = tcp_state(conn);
    if (status == RSM_ST_OK)
        status = tcp_send_parts(conn, &part, 1);
    conn->posted |= status == RSM_ST_OK;
    tcp_leave(conn, cancellable);
    return status;
}

/* ------------------------------------------------------------------ reads */

/* How reads are done: in single accesses of `width` bytes, or 0; and `snapshot` of struct
 * tcp_answer. */
struct how {
    unsigned width;
    bool *snapshot;
};

static enum rsm_status read_bytes(struct tcp_conn *conn, const struct rsm_transfer *wanted,
                                  const struct how *how, enum rsm_status *refused)
{
    enum rsm_status status = RSM_ST_OK;
    for (size_t done = 0; done < wanted->length && status == RSM_ST_OK;) {
        size_t left = wanted->length - done, part = left < TCP_PAYLOAD_MAX ? left : TCP_PAYLOAD_MAX;
        const struct tcp_answer answer = {.length = (uint32_t)part,
                                          .to = (uint8_t *)wanted->local + done,
                                          .status = refused,
                                          .snapshot = how->snapshot};
        status = tcp_ask(conn, wanted->remote + done, &answer, how->width);
        done += part;
    }
    return status;
}

/* All answers are taken also behind one that says no, so that the stream goes on. */
static enum rsm_status read_all(struct tcp_conn *conn, const struct rsm_transfer *vec,
                                unsigned count, const struct how *how)
{
    enum rsm_status refused = RSM_ST_OK;
    int cancellable = tcp_enter(conn);
    enum rsm_status status = tcp_state(conn);
    for (unsigned i = 0; i < count && status == RSM_ST_OK; i++)
        status = read_bytes(conn, &vec[i], how, &refused);
    if (status == RSM_ST_OK)
        status = tcp_settle(conn);
    tcp_leave(conn, cancellable);
    return status != RSM_ST_OK ? status : refused;
}

enum rsm_status tcp_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    const struct rsm_transfer wanted = {dst, offset, length};
    return read_all(tcp_conn_of(conn), &wanted, 1, &(struct how){.width = 0});
}

enum rsm_status tcp_get_snapshot(struct rsm_conn *base, uint64_t offset, void *dst, size_t length,
                                 bool *snapshot)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    const struct rsm_transfer wanted = {dst, offset, length};
    bool can = (conn->can & TCP_CAN_SNAPSHOT) != 0 && length <= TCP_SNAPSHOT_MAX;
    *snapshot = false;
    return read_all(conn, &wanted, 1, &(struct how){.snapshot = can ? snapshot : NULL});
}

enum rsm_status tcp_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst, unsigned width,
                              size_t count)
{
    const struct rsm_transfer wanted = {dst, offset, width * count};
    if (width != 1 && width != 2 && width != 4 && width != 8)
        return RSM_ST_INVALID;
    return read_all(tcp_conn_of(conn), &wanted, 1, &(struct how){.width = width});
}

enum rsm_status tcp_getv(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                         unsigned *done)
{
    enum rsm_status status = read_all(tcp_conn_of(conn), vec, count, &(struct how){.width = 0});
    *done = status == RSM_ST_OK ? count : 0;
    return status;
}
