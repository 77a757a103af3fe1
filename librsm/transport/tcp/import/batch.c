/* SPDX-License-Identifier: BSD-3-Clause */
/* The connection's lock, and the frames of writes that leave together under it. */
#include "transport/tcp/import/batch.h"

#include <pthread.h>

#include "base/cancel.h"

enum { SMALL_BYTES = 16 << 10 }; /* which a socket with room takes at once */

int tcp_enter(struct tcp_conn *conn)
{
    int cancellable = rsm_cancel_disable();
    pthread_mutex_lock(&conn->lock);
    return cancellable;
}

void tcp_leave(struct tcp_conn *conn, int cancellable)
{
    pthread_mutex_unlock(&conn->lock);
    rsm_cancel_enable(cancellable);
}

enum rsm_status tcp_state(struct tcp_conn *conn)
{
    return (enum rsm_status)atomic_load_explicit(&conn->broken, memory_order_acquire);
}

enum rsm_status tcp_break_off(struct tcp_conn *conn)
{
    if (conn->dirty || tcp_answers_hold_flush(conn) || tcp_stage_holds(conn))
        rsm_conn_failed(&conn->base);
    conn->dirty = false;
    tcp_answers_drop(conn);
    atomic_store_explicit(&conn->broken, RSM_ST_ABORTED, memory_order_release);
    return RSM_ST_ABORTED;
}

struct iovec tcp_frame_part(const struct tcp_frame *frame, uint8_t bytes[TCP_FRAME_BYTES])
{
    tcp_frame_encode(frame, bytes);
    return (struct iovec){bytes, TCP_FRAME_BYTES};
}

/* While rsm-tcpd waits to send what was read it takes nothing: with reads under way only what the
 * socket has room for can be sent. */
static enum rsm_status make_room(struct tcp_conn *conn, const struct iovec *parts, unsigned count)
{
    size_t length = 0;
    if (conn->answers.reads == 0)
        return RSM_ST_OK;
    for (unsigned i = 0; i < count; i++)
        length += parts[i].iov_len;
    return length <= SMALL_BYTES && tcp_stream_has_room(&conn->channel) ? RSM_ST_OK
                                                                        : tcp_settle(conn);
}

enum rsm_status tcp_send_parts(struct tcp_conn *conn, const struct iovec *parts, unsigned count)
{
    struct iovec all[TCP_SLOTS + TCP_PARTS_MAX];
    unsigned before = tcp_stage_take(conn, all);
    for (unsigned i = 0; i < count; i++)
        all[before + i] = parts[i];
    enum rsm_status status = make_room(conn, all, before + count);
    if (status != RSM_ST_OK)
        return status;
    status = tcp_stream_send(&conn->channel, conn->options->timeout_ms, all, before + count);
    tcp_stage_sent(conn, 0);
    return status == RSM_ST_OK ? RSM_ST_OK : tcp_break_off(conn);
}

/* ------------------------------------------------------------------ writes */

static void empty(struct tcp_batch *batch)
{
    batch->count = batch->parts = 0;
}

void tcp_batch_init(struct tcp_batch *batch, struct tcp_conn *conn)
{
    batch->conn = conn;
    empty(batch);
}

enum rsm_status tcp_batch_begin(struct tcp_batch *batch, struct tcp_conn *conn, int *cancellable)
{
    tcp_batch_init(batch, conn);
    *cancellable = tcp_enter(conn);
    return tcp_state(conn);
}

enum rsm_status tcp_batch_send(struct tcp_batch *batch)
{
    enum rsm_status status = RSM_ST_OK;
    if (batch->parts > 0)
        status = tcp_send_parts(batch->conn, batch->part, batch->parts);
    empty(batch);
    return status;
}

static void add(struct tcp_batch *batch, const struct tcp_frame *frame, const void *payload)
{
    batch->part[batch->parts++] = tcp_frame_part(frame, batch->head[batch->count++]);
    if (payload != NULL)
        batch->part[batch->parts++] = (struct iovec){(void *)(uintptr_t)payload, frame->length};
}

struct tcp_frame tcp_write_frame(uint64_t offset, size_t length, unsigned width)
{
    return (struct tcp_frame){.type = width != 0 ? TCP_PUT_ELEMS : TCP_PUT,
                              .width = (uint8_t)width,
                              .length = (uint32_t)length,
                              .offset = offset};
}

enum rsm_status tcp_batch_write(struct tcp_batch *batch, uint64_t offset, const void *src,
                                size_t length, unsigned width)
{
    enum rsm_status status = RSM_ST_OK;
    for (size_t done = 0; done < length && status == RSM_ST_OK;) {
        size_t part = length - done < TCP_PAYLOAD_MAX ? length - done : TCP_PAYLOAD_MAX;
        const struct tcp_frame frame = tcp_write_frame(offset + done, part, width);
        add(batch, &frame, (const uint8_t *)src + done);
        done += part;
        if (batch->count == TCP_BATCH)
            status = tcp_batch_send(batch);
    }
    return status;
}

enum rsm_status tcp_batch_flush(struct tcp_batch *batch, const struct tcp_answer *answer)
{
    struct tcp_conn *conn = batch->conn;
    enum rsm_status status = tcp_answers_make_room(conn);
    if (status != RSM_ST_OK)
        return status;
    const struct tcp_frame frame = {.type = TCP_FLUSH, .id = ++conn->id};
    add(batch, &frame, NULL);
    status = tcp_batch_send(batch);
    if (status != RSM_ST_OK)
        return status;
    struct tcp_answer expected = *answer;
    expected.mixed =
        conn->dirty; /* also of what another thread had collected, and left with this */
    tcp_answers_expect(conn, &expected);
    return RSM_ST_OK;
}
