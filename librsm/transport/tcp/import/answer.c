/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers come in the order of the requests. A caller that wants one takes those before it, too,
 * whether a barrier, a read or a transfer whose end is reported (work.c) has asked for them. Data
 * goes straight to where it was wanted.
 */
#include "base/clock.h"
#include "base/fence.h"
#include "transport/tcp/import/batch.h"

static struct tcp_answer *next_of(struct tcp_answers *answers)
{
    return &answers->ring[answers->first];
}

void tcp_answers_expect(struct tcp_conn *conn, const struct tcp_answer *answer)
{
    struct tcp_answers *answers = &conn->answers;
    struct tcp_answer *last = &answers->ring[(answers->first + answers->count) % TCP_ANSWERS_MAX];
    *last = *answer;
    last->id = conn->id;
    if (answers->count++ == 0)
        answers->moved_ns = rsm_clock_ns();
    answers->reads += answer->to != NULL;
    answers->bytes += answer->length;
    answers->flushes += answer->status == NULL;
    if (answer->open != NULL)
        ++*answer->open;
}

bool tcp_answers_hold_flush(const struct tcp_conn *conn)
{
    return conn->answers.flushes > 0;
}

void tcp_answers_drop(struct tcp_conn *conn)
{
    conn->answers = (struct tcp_answers){.count = 0};
}

/* The next one has been taken. */
static void advance(struct tcp_answers *answers)
{
    const struct tcp_answer *taken = next_of(answers);
    answers->reads -= taken->to != NULL;
    answers->bytes -= taken->length;
    answers->flushes -= taken->status == NULL;
    if (taken->open != NULL)
        --*taken->open;
    answers->first = (answers->first + 1) % TCP_ANSWERS_MAX;
    answers->count--;
    answers->got = 0;
}

static void note(const struct tcp_answer *answer, enum rsm_status status)
{
    if (*answer->status == RSM_ST_OK)
        *answer->status = status;
}

static enum rsm_status refused(uint32_t status)
{
    return status == RSM_ST_DENIED || status == RSM_ST_RANGE ? (enum rsm_status)status
                                                             : RSM_ST_TRANSFER;
}

/* A DONE counts what has failed so far: what has since the one before, failed among the writes of
 * this answer. */
static bool take_done(struct tcp_conn *conn, const struct tcp_answer *next,
                      const struct tcp_frame *done)
{
    if (done->type != TCP_DONE || done->status != RSM_ST_OK)
        return false;
    bool failed = done->offset != conn->failed;
    conn->failed = done->offset;
    if (failed && next->status != NULL)
        note(next, RSM_ST_TRANSFER);
    if (failed && (next->status == NULL || next->mixed))
        rsm_conn_failed(&conn->base);
    advance(&conn->answers);
    return true;
}

/* Behind a refusal there is no data. */
static bool take_head(struct tcp_conn *conn)
{
    struct tcp_answers *answers = &conn->answers;
    const struct tcp_answer *next = next_of(answers);
    struct tcp_frame reply = tcp_frame_decode(answers->head);
    if (!tcp_reply_is_sound(&reply) || reply.id != next->id)
        return false;
    if (next->to == NULL)
        return take_done(conn, next, &reply);
    if (reply.type != TCP_DATA || (reply.status == RSM_ST_OK && reply.length != next->length))
        return false;
    if (next->snapshot != NULL)
        *next->snapshot = (reply.flags & TCP_FLAG_SNAPSHOT) != 0;
    if (reply.status == RSM_ST_OK)
        return true;
    note(next, refused(reply.status));
    bool sound = answers->got == TCP_FRAME_BYTES;
    advance(answers);
    return sound;
}

/* What is to come of the next answer. If it is the only one, header and data are received at once:
 * nothing follows. */
static unsigned parts_of(struct tcp_answers *answers, struct iovec parts[2])
{
    const struct tcp_answer *next = next_of(answers);
    bool in_head = answers->got < TCP_FRAME_BYTES;
    size_t at = in_head ? 0 : answers->got - TCP_FRAME_BYTES;
    unsigned count = 0;
    if (in_head)
        parts[count++] =
            (struct iovec){answers->head + answers->got, TCP_FRAME_BYTES - answers->got};
    if (next->to != NULL && (!in_head || answers->count == 1))
        parts[count++] = (struct iovec){next->to + at, next->length - at};
    return count;
}

/* Receive what has arrived of the next answer; wait for something until then, unless it is 0. */
static enum rsm_status receive(struct tcp_conn *conn, int64_t until, bool *moved)
{
    struct tcp_answers *answers = &conn->answers;
    struct iovec parts[2];
    size_t got, before = answers->got;
    unsigned count = parts_of(answers, parts);
    enum rsm_status status =
        tcp_stream_receive_some(&conn->channel, conn->options, parts, count, until, &got);
    *moved = got > 0;
    if (status != RSM_ST_OK || got == 0)
        return status;
    answers->got += got;
    answers->moved_ns = rsm_clock_ns();
    unsigned expected = answers->count;
    if (before < TCP_FRAME_BYTES && answers->got >= TCP_FRAME_BYTES && !take_head(conn))
        return RSM_ST_PROTOCOL;
    if (answers->count == expected && answers->got >= TCP_FRAME_BYTES &&
        answers->got - TCP_FRAME_BYTES == next_of(answers)->length)
        advance(answers);
    return RSM_ST_OK;
}

enum rsm_status tcp_answers_poll(struct tcp_conn *conn)
{
    bool moved = true;
    while (conn->answers.count > 0 && moved) {
        if (receive(conn, 0, &moved) != RSM_ST_OK)
            return tcp_break_off(conn);
    }
    rsm_fence_acquire();
    return RSM_ST_OK;
}

int64_t tcp_answers_overdue(const struct tcp_conn *conn)
{
    return conn->answers.moved_ns + conn->options->timeout_ms * RSM_NS_PER_MS;
}

/* Wait until the next answer has been taken. */
static enum rsm_status take(struct tcp_conn *conn)
{
    unsigned expected = conn->answers.count;
    bool moved;
    while (conn->answers.count == expected)
        if (receive(conn, tcp_answers_overdue(conn), &moved) != RSM_ST_OK)
            return tcp_break_off(conn);
    return RSM_ST_OK;
}

bool tcp_answers_have_room(const struct tcp_conn *conn, size_t length)
{
    const struct tcp_answers *answers = &conn->answers;
    return answers->count < TCP_ANSWERS_MAX && answers->bytes + length <= TCP_READ_BYTES;
}

enum rsm_status tcp_answers_make_room(struct tcp_conn *conn)
{
    return conn->answers.count < TCP_ANSWERS_MAX ? RSM_ST_OK : take(conn);
}

enum rsm_status tcp_settle(struct tcp_conn *conn)
{
    enum rsm_status status = RSM_ST_OK;
    while (status == RSM_ST_OK && conn->answers.count > 0)
        status = take(conn);
    rsm_fence_acquire();
    return status;
}

enum rsm_status tcp_ask(struct tcp_conn *conn, uint64_t offset, const struct tcp_answer *answer,
                        unsigned width)
{
    uint8_t bytes[TCP_FRAME_BYTES];
    while (!tcp_answers_have_room(conn, answer->length)) {
        enum rsm_status status = take(conn);
        if (status != RSM_ST_OK)
            return status;
    }
    const struct tcp_frame frame = {.type = width != 0 ? TCP_GET_ELEMS : TCP_GET,
                                    .width = (uint8_t)width,
                                    .flags = answer->snapshot != NULL ? TCP_FLAG_SNAPSHOT : 0,
                                    .length = answer->length,
                                    .offset = offset,
                                    .id = ++conn->id};
    const struct iovec part = tcp_frame_part(&frame, bytes);
    enum rsm_status status = tcp_send_parts(conn, &part, 1);
    if (status == RSM_ST_OK)
        tcp_answers_expect(conn, answer);
    return status;
}
