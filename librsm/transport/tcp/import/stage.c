/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small writes that follow each other closely are collected, and the port's thread sends them: the
 * program's thread goes on to its next write while a send takes place. Whatever else is sent over
 * the connection takes along what has been collected, so nothing overtakes.
 *
 * The first writes of such a run go out by themselves. So neither a flag behind its data waits for
 * the thread, nor a write that answers another. With one processor nothing is collected.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/thread.h"
#include "transport/tcp/import/import.h"

enum {
    CLOSE_NS = 5000, /* between the writes of a run: about what a send takes */
    DIRECT = 2,      /* writes of a run that go out by themselves */
    RETRY_MS = 1,    /* where a socket is full or another thread uses the connection */
    STACK_BYTES = 64 << 10,
};

/* ------------------------------------------------------------------ connections that wait */

/* Under the sender's lock. */
static void enter(struct tcp_sender *sender, struct tcp_conn *conn)
{
    if (conn->waits)
        return;
    conn->waits = true;
    DL_APPEND(sender->waiting, conn);
    sender->count++;
}

static void leave(struct tcp_sender *sender, struct tcp_conn *conn)
{
    conn->waits = false;
    DL_DELETE(sender->waiting, conn);
    sender->count--;
}

static void wake(struct tcp_conn *conn)
{
    struct tcp_sender *sender = conn->sender;
    pthread_mutex_lock(&sender->lock);
    enter(sender, conn);
    sender->in_vain = 0;
    pthread_cond_signal(&sender->wake);
    pthread_mutex_unlock(&sender->lock);
}

/* ------------------------------------------------------------------ collecting */

/* Under the stage's lock: whether this write is to be collected. */
static bool is_one_of_many(struct tcp_stage *stage, size_t length)
{
    int64_t now = rsm_clock_ns();
    stage->run = now - stage->last_ns < CLOSE_NS ? stage->run + 1 : 0;
    stage->last_ns = now;
    return stage->run >= DIRECT && length <= TCP_STAGE_BYTES - stage->used;
}

/* Under the stage's lock. Most connections never collect anything. */
static bool has_buffers(struct tcp_stage *stage)
{
    if (stage->buffers == NULL)
        stage->buffers = malloc(sizeof *stage->buffers);
    return stage->buffers != NULL;
}

bool tcp_stage_add(struct tcp_conn *conn, const struct tcp_frame *frame, const void *payload)
{
    struct tcp_stage *stage = &conn->stage;
    uint8_t bytes[TCP_FRAME_BYTES + TCP_STAGED_PUT_MAX];
    size_t length = TCP_FRAME_BYTES + frame->length;
    if (!conn->sender->running)
        return false;
    tcp_frame_encode(frame, bytes);
    memcpy(bytes + TCP_FRAME_BYTES, payload, frame->length); /* may fault: no lock is held */
    pthread_mutex_lock(&stage->lock);
    bool added = is_one_of_many(stage, length) && has_buffers(stage);
    bool first = added && stage->used == 0;
    if (added) {
        memcpy(stage->buffers->bytes + stage->used, bytes, length);
        stage->used += (uint32_t)length;
    }
    pthread_mutex_unlock(&stage->lock);
    if (first)
        wake(conn);
    return added;
}

bool tcp_stage_holds(struct tcp_conn *conn)
{
    pthread_mutex_lock(&conn->stage.lock);
    bool holds = conn->stage.used > 0;
    pthread_mutex_unlock(&conn->stage.lock);
    return holds;
}

void tcp_stage_sent_directly(struct tcp_conn *conn)
{
    pthread_mutex_lock(&conn->stage.lock);
    conn->stage.last_ns = rsm_clock_ns();
    pthread_mutex_unlock(&conn->stage.lock);
}

/* Under the connection's lock. */
static struct iovec going_out(const struct tcp_stage *stage)
{
    size_t length = stage->out_end - stage->out_begin;
    return length == 0 ? (struct iovec){NULL, 0}
                       : (struct iovec){stage->buffers->out + stage->out_begin, length};
}

struct iovec tcp_stage_take(struct tcp_conn *conn)
{
    struct tcp_stage *stage = &conn->stage;
    pthread_mutex_lock(&stage->lock);
    if (stage->used > 0) {
        memcpy(stage->buffers->out + stage->out_end, stage->buffers->bytes, stage->used);
        stage->out_end += stage->used;
        conn->dirty = true;
        stage->used = 0;
    }
    pthread_mutex_unlock(&stage->lock);
    return going_out(stage);
}

void tcp_stage_taken(struct tcp_conn *conn)
{
    conn->stage.out_begin = conn->stage.out_end = 0;
}

/* ------------------------------------------------------------------ the port's thread */

/* Send what fits into the socket: what did not fit before, or what has been collected since. */
static void send_out(struct tcp_conn *conn)
{
    struct tcp_stage *stage = &conn->stage;
    struct iovec part = going_out(stage);
    if (part.iov_len == 0)
        part = tcp_stage_take(conn);
    size_t left = part.iov_len;
    if (tcp_stream_send_some(&conn->channel, &part, 1, &left) != RSM_ST_OK)
        (void)tcp_break_off(conn);
    stage->out_begin = stage->out_end - (uint32_t)left;
    if (left == 0)
        tcp_stage_taken(conn);
}

/* If no other thread uses the connection. False: something is left to send. It does not wait,
 * because other connections have writes, too. */
static bool send_some(struct tcp_conn *conn)
{
    if (pthread_mutex_trylock(&conn->lock) != 0)
        return false;
    bool broken = atomic_load_explicit(&conn->broken, memory_order_acquire) != RSM_ST_OK;
    if (!broken)
        send_out(conn);
    bool done = broken || (conn->stage.out_end == 0 && !tcp_stage_holds(conn) &&
                           !tcp_channel_holds(&conn->channel));
    pthread_mutex_unlock(&conn->lock);
    return done;
}

/* Under the sender's lock, which is released meanwhile. If none of those that wait could be served,
 * pause. */
static void serve(struct tcp_sender *sender, struct tcp_conn *conn)
{
    leave(sender, conn);
    sender->serving = conn;
    pthread_mutex_unlock(&sender->lock);
    bool done = send_some(conn);
    pthread_mutex_lock(&sender->lock);
    sender->serving = NULL;
    pthread_cond_broadcast(&sender->served);
    sender->in_vain = done ? 0 : sender->in_vain + 1;
    if (done)
        return;
    enter(sender, conn);
    if (sender->in_vain < sender->count)
        return;
    const struct timespec until = rsm_timespec(rsm_deadline(RETRY_MS));
    sender->in_vain = 0;
    pthread_cond_timedwait(&sender->wake, &sender->lock, &until);
}

static void *run(void *argument)
{
    struct tcp_sender *sender = argument;
    pthread_mutex_lock(&sender->lock);
    while (!sender->stop)
        if (sender->waiting != NULL)
            serve(sender, sender->waiting);
        else
            pthread_cond_wait(&sender->wake, &sender->lock);
    pthread_mutex_unlock(&sender->lock);
    return NULL;
}

void tcp_sender_init(struct tcp_sender *sender)
{
    pthread_mutex_init(&sender->lock, NULL);
    rsm_cond_init(&sender->wake);
    rsm_cond_init(&sender->served);
}

void tcp_sender_start(struct tcp_sender *sender)
{
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return;
    pthread_mutex_lock(&sender->lock);
    if (!sender->running &&
        rsm_thread_start(&sender->thread, "rsm-tcp-send", STACK_BYTES, run, sender) == 0) {
        sender->process = getpid();
        sender->running = true;
    }
    pthread_mutex_unlock(&sender->lock);
}

void tcp_sender_destroy(struct tcp_sender *sender)
{
    if (sender->running && sender->process == getpid()) { /* a forked child has no such thread */
        pthread_mutex_lock(&sender->lock);
        sender->stop = true;
        pthread_cond_signal(&sender->wake);
        pthread_mutex_unlock(&sender->lock);
        pthread_join(sender->thread, NULL);
    }
    pthread_cond_destroy(&sender->served);
    pthread_cond_destroy(&sender->wake);
    pthread_mutex_destroy(&sender->lock);
}

void tcp_sender_leave(struct tcp_conn *conn)
{
    struct tcp_sender *sender = conn->sender;
    pthread_mutex_lock(&sender->lock);
    while (sender->serving == conn)
        pthread_cond_wait(&sender->served, &sender->lock);
    if (conn->waits)
        leave(sender, conn);
    pthread_mutex_unlock(&sender->lock);
}
