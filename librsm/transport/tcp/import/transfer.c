/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers. Memory of the program goes straight into the socket, and from it, or is sealed into
 * the connection's records, and opened from them. A connection's lock is held meanwhile, which no
 * other connection waits for. Nothing is allocated.
 */
#include <pthread.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/fence.h"
#include "transport/tcp/import/import.h"

enum {
    BATCH = 16, /* frames of writes that leave together */
    WINDOW = 4, /* reads that are asked for before the first is answered */
};

/* ------------------------------------------------------------------ the connection */

static int begin(struct tcp_conn *conn)
{
    int cancellable = rsm_cancel_disable();
    pthread_mutex_lock(&conn->lock);
    return cancellable;
}

static void end(struct tcp_conn *conn, int cancellable)
{
    pthread_mutex_unlock(&conn->lock);
    rsm_cancel_enable(cancellable);
}

static enum rsm_status state_of(struct tcp_conn *conn)
{
    return (enum rsm_status)atomic_load_explicit(&conn->broken, memory_order_acquire);
}

enum rsm_status tcp_break_off(struct tcp_conn *conn)
{
    if (conn->dirty || conn->asked.waits || tcp_stage_holds(conn))
        rsm_conn_failed(&conn->base);
    conn->dirty = conn->asked.waits = false;
    atomic_store_explicit(&conn->broken, RSM_ST_ABORTED, memory_order_release);
    return RSM_ST_ABORTED;
}

static struct iovec frame_part(const struct tcp_frame *frame, uint8_t bytes[TCP_FRAME_BYTES])
{
    tcp_frame_encode(frame, bytes);
    return (struct iovec){bytes, TCP_FRAME_BYTES};
}

/* Send frames. The first part is left free for what has been collected. If the memory of a frame
 * cannot be read, what follows in the stream is undefined. */
static enum rsm_status send_parts(struct tcp_conn *conn, struct iovec *parts, unsigned count)
{
    parts[0] = tcp_stage_take(conn);
    enum rsm_status status =
        tcp_stream_send(&conn->channel, conn->options->timeout_ms, parts, count);
    tcp_stage_taken(conn);
    return status == RSM_ST_OK ? RSM_ST_OK : tcp_break_off(conn);
}

/* ------------------------------------------------------------------ writes */

/* Frames of writes that have not been sent. */
struct batch {
    struct tcp_conn *conn;
    unsigned count; /* frames */
    unsigned parts;
    uint8_t head[BATCH + 1][TCP_FRAME_BYTES];
    struct iovec part[2 * BATCH + 2];
};

static void batch_empty(struct batch *batch)
{
    batch->count = 0;
    batch->parts = 1; /* see send_parts() */
}

/* Take the connection for it. */
static enum rsm_status batch_begin(struct batch *batch, struct tcp_conn *conn, int *cancellable)
{
    batch->conn = conn;
    batch_empty(batch);
    *cancellable = begin(conn);
    return state_of(conn);
}

static enum rsm_status batch_send(struct batch *batch)
{
    enum rsm_status status = RSM_ST_OK;
    if (batch->parts > 1)
        status = send_parts(batch->conn, batch->part, batch->parts);
    batch_empty(batch);
    return status;
}

static void batch_add(struct batch *batch, const struct tcp_frame *frame, const void *payload)
{
    batch->part[batch->parts++] = frame_part(frame, batch->head[batch->count++]);
    if (payload != NULL)
        batch->part[batch->parts++] = (struct iovec){(void *)(uintptr_t)payload, frame->length};
}

static struct tcp_frame write_frame(uint64_t offset, size_t length, unsigned width)
{
    return (struct tcp_frame){.type = width != 0 ? TCP_PUT_ELEMS : TCP_PUT,
                              .width = (uint8_t)width,
                              .length = (uint32_t)length,
                              .offset = offset};
}

/* One transfer, in frames of bounded length. */
static enum rsm_status batch_write(struct batch *batch, uint64_t offset, const void *src,
                                   size_t length, unsigned width)
{
    enum rsm_status status = RSM_ST_OK;
    for (size_t done = 0; done < length && status == RSM_ST_OK;) {
        size_t part = length - done < TCP_PAYLOAD_MAX ? length - done : TCP_PAYLOAD_MAX;
        const struct tcp_frame frame = write_frame(offset + done, part, width);
        batch_add(batch, &frame, (const uint8_t *)src + done);
        done += part;
        if (batch->count == BATCH)
            status = batch_send(batch);
    }
    return status;
}

/* Whether a small write goes out with others, later. */
static bool collect(struct tcp_conn *conn, uint64_t offset, const void *src, size_t length,
                    unsigned width)
{
    const struct tcp_frame frame = write_frame(offset, length, width);
    if (state_of(conn) != RSM_ST_OK)
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
    struct batch batch;
    int cancellable;
    if (length <= TCP_STAGED_PUT_MAX && collect(conn, offset, src, length, width))
        return RSM_ST_OK;
    enum rsm_status status = batch_begin(&batch, conn, &cancellable);
    if (status == RSM_ST_OK)
        status = batch_write(&batch, offset, src, length, width);
    if (status == RSM_ST_OK)
        status = batch_send(&batch);
    conn->dirty |= status == RSM_ST_OK;
    if (length <= TCP_STAGED_PUT_MAX)
        tcp_stage_sent_directly(conn);
    end(conn, cancellable);
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
    struct batch batch;
    int cancellable;
    enum rsm_status status = batch_begin(&batch, conn, &cancellable);
    for (unsigned i = 0; i < count && status == RSM_ST_OK; i++)
        status = batch_write(&batch, vec[i].remote, vec[i].local, vec[i].length, 0);
    if (status == RSM_ST_OK)
        status = batch_send(&batch);
    conn->dirty |= status == RSM_ST_OK;
    *done = status == RSM_ST_OK ? count : 0; /* the connection is over, and with it all of them */
    end(conn, cancellable);
    return status;
}

/* ------------------------------------------------------------------ completion */

/* The answer to a FLUSH that has been sent, which comes before that time. */
static enum rsm_status take_done(struct tcp_conn *conn, uint32_t id, int64_t until)
{
    uint8_t bytes[TCP_FRAME_BYTES];
    struct iovec part = {bytes, sizeof bytes};
    if (tcp_stream_receive_until(&conn->channel, conn->options, &part, 1, sizeof bytes, until) !=
        RSM_ST_OK)
        return tcp_break_off(conn);
    struct tcp_frame done = tcp_frame_decode(bytes);
    if (!tcp_reply_is_sound(&done) || done.type != TCP_DONE || done.id != id ||
        done.status != RSM_ST_OK)
        return tcp_break_off(conn);
    if (done.offset != conn->failed)
        rsm_conn_failed(&conn->base);
    conn->failed = done.offset;
    return RSM_ST_OK;
}

/* Answers come in the order of the requests: this one before any other. */
static enum rsm_status take_asked(struct tcp_conn *conn)
{
    if (!conn->asked.waits)
        return RSM_ST_OK;
    enum rsm_status status = take_done(conn, conn->asked.id, conn->asked.until);
    conn->asked.waits = conn->asked.posted = false;
    return status;
}

static bool has_to_flush(struct tcp_conn *conn)
{
    return conn->dirty || conn->posted || tcp_stage_holds(conn);
}

/* Behind what is in the batch. */
static enum rsm_status send_flush(struct batch *batch)
{
    const struct tcp_frame frame = {.type = TCP_FLUSH, .id = ++batch->conn->id};
    batch_add(batch, &frame, NULL);
    return batch_send(batch);
}

static enum rsm_status flush(struct batch *batch)
{
    struct tcp_conn *conn = batch->conn;
    enum rsm_status status = send_flush(batch);
    if (status == RSM_ST_OK)
        status = take_asked(conn);
    if (status == RSM_ST_OK)
        status = take_done(conn, conn->id, RSM_DEADLINE_NEVER);
    if (status == RSM_ST_OK)
        conn->dirty = conn->posted = false;
    return status;
}

enum rsm_status tcp_complete(struct rsm_conn *base)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    struct batch batch;
    int cancellable;
    enum rsm_status status = batch_begin(&batch, conn, &cancellable);
    if (status == RSM_ST_OK)
        status = has_to_flush(conn) ? flush(&batch) : take_asked(conn);
    end(conn, cancellable);
    return status;
}

/* Where the socket is full, tcp_complete() waits for room. */
void tcp_complete_begin(struct rsm_conn *base)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    struct batch batch;
    int cancellable;
    enum rsm_status status = batch_begin(&batch, conn, &cancellable);
    if (status == RSM_ST_OK && !conn->asked.waits && has_to_flush(conn) &&
        tcp_stream_has_room(&conn->channel) && send_flush(&batch) == RSM_ST_OK) {
        conn->asked.waits = true;
        conn->asked.posted = conn->posted;
        conn->asked.id = conn->id;
        conn->asked.until = rsm_deadline(conn->options->timeout_ms);
        conn->dirty = conn->posted = false;
    }
    end(conn, cancellable);
}

enum rsm_status tcp_put_complete(struct rsm_conn *base, uint64_t offset, const void *src,
                                 size_t length)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    struct batch batch;
    int cancellable;
    enum rsm_status status = batch_begin(&batch, conn, &cancellable);
    if (status == RSM_ST_OK)
        status = batch_write(&batch, offset, src, length, 0);
    if (status == RSM_ST_OK)
        status = flush(&batch);
    end(conn, cancellable);
    return status;
}

void tcp_drain(struct tcp_conn *conn)
{
    struct iovec part;
    int cancellable = begin(conn);
    if (state_of(conn) == RSM_ST_OK)
        (void)send_parts(conn, &part, 1);
    end(conn, cancellable);
}

/* The stream is in order, and rsm-tcpd carries it out so. */
enum rsm_status tcp_order(struct rsm_conn *conn)
{
    return state_of(tcp_conn_of(conn));
}

enum rsm_status tcp_health(struct rsm_conn *conn)
{
    return state_of(tcp_conn_of(conn));
}

enum rsm_status tcp_post(struct rsm_conn *base, bool coalesce)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    uint8_t bytes[TCP_FRAME_BYTES];
    const struct tcp_frame frame = {.type = TCP_SIGNAL, .flags = coalesce ? TCP_FLAG_COALESCED : 0};
    struct iovec parts[2] = {[1] = frame_part(&frame, bytes)};
    int cancellable = begin(conn);
    enum rsm_status status = state_of(conn);
    if (status == RSM_ST_OK)
        status = send_parts(conn, parts, 2);
    conn->posted |= status == RSM_ST_OK;
    end(conn, cancellable);
    return status;
}

/* ------------------------------------------------------------------ reads */

/* Reads that have been asked for, in the order of their answers. */
struct reader {
    struct tcp_conn *conn;
    enum rsm_status failed; /* of the first that rsm-tcpd has refused */
    unsigned under_way, next;
    struct {
        uint8_t *to;
        uint32_t length, id;
    } read[WINDOW];
};

static enum rsm_status refused(uint32_t status)
{
    return status == RSM_ST_DENIED || status == RSM_ST_RANGE ? (enum rsm_status)status
                                                             : RSM_ST_TRANSFER;
}

/* If it is the only one, header and data are received at once: nothing follows. */
static enum rsm_status take_data(struct reader *r)
{
    struct tcp_conn *conn = r->conn;
    uint8_t bytes[TCP_FRAME_BYTES];
    uint8_t *to = r->read[r->next].to;
    uint32_t length = r->read[r->next].length;
    struct iovec parts[] = {{bytes, sizeof bytes}, {to, length}};
    unsigned count = r->under_way == 1 ? 2 : 1;
    if (tcp_stream_receive(&conn->channel, conn->options, parts, count, sizeof bytes) != RSM_ST_OK)
        return tcp_break_off(conn);
    struct tcp_frame reply = tcp_frame_decode(bytes);
    if (!tcp_reply_is_sound(&reply) || reply.type != TCP_DATA || reply.id != r->read[r->next].id ||
        (reply.status == RSM_ST_OK && reply.length != length))
        return tcp_break_off(conn);
    if (reply.status != RSM_ST_OK && r->failed == RSM_ST_OK)
        r->failed = refused(reply.status);
    if (reply.status == RSM_ST_OK &&
        tcp_stream_receive(&conn->channel, conn->options, parts, 2, SIZE_MAX) != RSM_ST_OK)
        return tcp_break_off(conn);
    r->next = (r->next + 1) % WINDOW;
    r->under_way--;
    return RSM_ST_OK;
}

static enum rsm_status ask(struct reader *r, uint64_t offset, uint8_t *to, uint32_t length,
                           unsigned width)
{
    struct tcp_conn *conn = r->conn;
    uint8_t bytes[TCP_FRAME_BYTES];
    if (r->under_way == WINDOW) {
        enum rsm_status status = take_data(r);
        if (status != RSM_ST_OK)
            return status;
    }
    const struct tcp_frame frame = {.type = width != 0 ? TCP_GET_ELEMS : TCP_GET,
                                    .width = (uint8_t)width,
                                    .length = length,
                                    .offset = offset,
                                    .id = ++conn->id};
    struct iovec parts[2] = {[1] = frame_part(&frame, bytes)};
    unsigned place = (r->next + r->under_way++) % WINDOW;
    r->read[place].to = to;
    r->read[place].length = length;
    r->read[place].id = conn->id;
    return send_parts(conn, parts, 2);
}

static enum rsm_status read_bytes(struct reader *r, uint64_t offset, void *dst, size_t length,
                                  unsigned width)
{
    enum rsm_status status = RSM_ST_OK;
    for (size_t done = 0; done < length && status == RSM_ST_OK;) {
        size_t part = length - done < TCP_PAYLOAD_MAX ? length - done : TCP_PAYLOAD_MAX;
        status = ask(r, offset + done, (uint8_t *)dst + done, (uint32_t)part, width);
        done += part;
    }
    return status;
}

/* All answers are taken also behind one that says no, so that the stream goes on. */
static enum rsm_status finish(struct reader *r, enum rsm_status status)
{
    while (status == RSM_ST_OK && r->under_way > 0)
        status = take_data(r);
    rsm_fence_acquire();
    return status != RSM_ST_OK ? status : r->failed;
}

static enum rsm_status read_one(struct rsm_conn *base, uint64_t offset, void *dst, size_t length,
                                unsigned width)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    struct reader r = {.conn = conn, .failed = RSM_ST_OK};
    int cancellable = begin(conn);
    enum rsm_status status = state_of(conn);
    if (status == RSM_ST_OK)
        status = take_asked(conn);
    if (status == RSM_ST_OK)
        status = finish(&r, read_bytes(&r, offset, dst, length, width));
    end(conn, cancellable);
    return status;
}

enum rsm_status tcp_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    return read_one(conn, offset, dst, length, 0);
}

enum rsm_status tcp_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst, unsigned width,
                              size_t count)
{
    if (width != 1 && width != 2 && width != 4 && width != 8)
        return RSM_ST_INVALID;
    return read_one(conn, offset, dst, width * count, width);
}

enum rsm_status tcp_getv(struct rsm_conn *base, const struct rsm_transfer *vec, unsigned count,
                         unsigned *done)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    struct reader r = {.conn = conn, .failed = RSM_ST_OK};
    int cancellable = begin(conn);
    enum rsm_status status = state_of(conn);
    if (status == RSM_ST_OK)
        status = take_asked(conn);
    for (unsigned i = 0; i < count && status == RSM_ST_OK; i++)
        status = read_bytes(&r, vec[i].remote, vec[i].local, vec[i].length, 0);
    status = finish(&r, status);
    *done = status == RSM_ST_OK ? count : 0;
    end(conn, cancellable);
    return status;
}
