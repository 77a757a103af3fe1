/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small writes that follow each other closely are collected, and the port's thread sends them: the
 * program's thread goes on to its next write while a send takes place. Whatever else is sent over
 * the connection takes along what has been collected, so nothing overtakes.
 *
 * A write is copied into a slot. The smallest share one; any other has a slot of its own, which
 * it fills without a lock, because its memory may fault. Slots are sent in the order in which they
 * have been filled.
 *
 * The first writes of such a run go out by themselves. So neither a flag behind its data waits for
 * the thread, nor a write that answers another. With one processor nothing is collected.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "base/apart.h"
#include "base/clock.h"
#include "base/thread.h"
#include "transport/tcp/import/import.h"

enum {
    CLOSE_NS = 5000,  /* between the writes of a run: about what a send takes */
    DIRECT = 2,       /* writes of a run that go out by themselves */
    SHARED_MAX = 256, /* bytes of a write that shares a slot, and is copied twice */
    RETRY_MS = 1,     /* where a socket is full or another thread uses the connection */
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

/* ------------------------------------------------------------------ slots */

void tcp_stage_init(struct tcp_stage *stage)
{
    pthread_mutex_init(&stage->lock, NULL);
}

void tcp_stage_destroy(struct tcp_stage *stage)
{
    if (stage->slots != NULL)
        munmap(stage->slots, TCP_SLOTS * sizeof *stage->slots);
    pthread_mutex_destroy(&stage->lock);
}

/* Under the stage's lock. Most connections never collect anything. The program's thread may be
 * anywhere when the mapping engine stores for it: not malloc(3). */
static bool has_slots(struct tcp_stage *stage)
{
    if (stage->slots == NULL) {
        void *mapped = rsmcore_mmap_apart(TCP_SLOTS * sizeof *stage->slots, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        stage->slots = mapped != MAP_FAILED ? mapped : NULL;
    }
    return stage->slots != NULL;
}

/* Under the stage's lock. @return its number, TCP_SLOTS: none is free. */
static unsigned take_slot(struct tcp_stage *stage)
{
    unsigned slot = 0;
    while (slot < TCP_SLOTS && (stage->busy & 1U << slot) != 0)
        slot++;
    if (slot == TCP_SLOTS || !has_slots(stage))
        return TCP_SLOTS;
    stage->busy |= 1U << slot;
    stage->slots[slot].used = 0;
    return slot;
}

static void append(struct tcp_slot_queue *queue, unsigned slot)
{
    queue->slot[queue->count++] = (uint8_t)slot;
}

/* Under the stage's lock: the last one that has been filled, if it has room, or another. */
static struct tcp_slot *slot_to_share(struct tcp_stage *stage, size_t length)
{
    const struct tcp_slot_queue *filled = &stage->filled;
    if (filled->count > 0) {
        struct tcp_slot *last = &stage->slots[filled->slot[filled->count - 1]];
        if (length <= sizeof last->bytes - last->used)
            return last;
    }
    unsigned slot = take_slot(stage);
    if (slot == TCP_SLOTS)
        return NULL;
    append(&stage->filled, slot);
    return &stage->slots[slot];
}

/* ------------------------------------------------------------------ collecting */

/* Under the stage's lock: whether this write is to be collected. */
static bool is_one_of_many(struct tcp_stage *stage)
{
    int64_t now = rsm_clock_ns();
    stage->run = now - stage->last_ns < CLOSE_NS ? stage->run + 1 : 0;
    stage->last_ns = now;
    return stage->run >= DIRECT;
}

static bool add_shared(struct tcp_conn *conn, const struct tcp_frame *frame, const void *payload)
{
    struct tcp_stage *stage = &conn->stage;
    uint8_t bytes[TCP_FRAME_BYTES + SHARED_MAX];
    size_t length = TCP_FRAME_BYTES + frame->length;
    tcp_frame_encode(frame, bytes);
    memcpy(bytes + TCP_FRAME_BYTES, payload, frame->length);
    pthread_mutex_lock(&stage->lock);
    bool first = stage->filled.count == 0;
    struct tcp_slot *slot = is_one_of_many(stage) ? slot_to_share(stage, length) : NULL;
    if (slot != NULL) {
        memcpy(slot->bytes + slot->used, bytes, length);
        slot->used += (uint32_t)length;
    }
    pthread_mutex_unlock(&stage->lock);
    if (slot != NULL && first)
        wake(conn);
    return slot != NULL;
}

static bool add_alone(struct tcp_conn *conn, const struct tcp_frame *frame, const void *payload)
{
    struct tcp_stage *stage = &conn->stage;
    pthread_mutex_lock(&stage->lock);
    unsigned number = is_one_of_many(stage) ? take_slot(stage) : TCP_SLOTS;
    pthread_mutex_unlock(&stage->lock);
    if (number == TCP_SLOTS)
        return false;
    struct tcp_slot *slot = &stage->slots[number];
    tcp_frame_encode(frame, slot->bytes);
    memcpy(slot->bytes + TCP_FRAME_BYTES, payload, frame->length);
    slot->used = (uint32_t)TCP_FRAME_BYTES + frame->length;
    pthread_mutex_lock(&stage->lock);
    bool first = stage->filled.count == 0;
    append(&stage->filled, number);
    pthread_mutex_unlock(&stage->lock);
    if (first)
        wake(conn);
    return true;
}

bool tcp_stage_add(struct tcp_conn *conn, const struct tcp_frame *frame, const void *payload)
{
    if (!conn->sender->running)
        return false;
    return frame->length <= SHARED_MAX ? add_shared(conn, frame, payload)
                                       : add_alone(conn, frame, payload);
}

bool tcp_stage_holds(struct tcp_conn *conn)
{
    pthread_mutex_lock(&conn->stage.lock);
    bool holds = conn->stage.filled.count > 0;
    pthread_mutex_unlock(&conn->stage.lock);
    return holds;
}

void tcp_stage_sent_directly(struct tcp_conn *conn)
{
    pthread_mutex_lock(&conn->stage.lock);
    conn->stage.last_ns = rsm_clock_ns();
    pthread_mutex_unlock(&conn->stage.lock);
}

/* ------------------------------------------------------------------ sending */

static void take_filled(struct tcp_conn *conn)
{
    struct tcp_stage *stage = &conn->stage;
    pthread_mutex_lock(&stage->lock);
    conn->dirty |= stage->filled.count > 0;
    for (unsigned i = 0; i < stage->filled.count; i++)
        append(&stage->out, stage->filled.slot[i]);
    stage->filled.count = 0;
    pthread_mutex_unlock(&stage->lock);
}

static unsigned going_out(const struct tcp_stage *stage, struct iovec parts[TCP_SLOTS])
{
    uint32_t begin = stage->out_sent;
    for (unsigned i = 0; i < stage->out.count; i++) {
        struct tcp_slot *slot = &stage->slots[stage->out.slot[i]];
        parts[i] = (struct iovec){slot->bytes + begin, slot->used - begin};
        begin = 0;
    }
    return stage->out.count;
}

unsigned tcp_stage_take(struct tcp_conn *conn, struct iovec parts[TCP_SLOTS])
{
    take_filled(conn);
    return going_out(&conn->stage, parts);
}

/* The first slots, all of which have gone. */
static void release(struct tcp_stage *stage, unsigned count)
{
    struct tcp_slot_queue *out = &stage->out;
    uint32_t gone = 0;
    for (unsigned i = 0; i < count; i++)
        gone |= 1U << out->slot[i];
    out->count -= count;
    memmove(out->slot, out->slot + count, out->count);
    pthread_mutex_lock(&stage->lock);
    stage->busy &= ~gone;
    pthread_mutex_unlock(&stage->lock);
}

void tcp_stage_sent(struct tcp_conn *conn, size_t left)
{
    struct tcp_stage *stage = &conn->stage;
    unsigned kept = 0;
    size_t last = 0; /* bytes left of the first slot that is kept */
    while (left > 0) {
        last = stage->slots[stage->out.slot[stage->out.count - ++kept]].used;
        last = left < last ? left : last;
        left -= last;
    }
    if (kept < stage->out.count)
        release(stage, stage->out.count - kept);
    stage->out_sent = kept > 0 ? stage->slots[stage->out.slot[0]].used - (uint32_t)last : 0;
}

/* While the socket is full, slots with room are filled further. */
bool tcp_stage_push(struct tcp_conn *conn)
{
    struct iovec parts[TCP_SLOTS];
    if (conn->stage.out.count == 0)
        take_filled(conn);
    unsigned count = going_out(&conn->stage, parts);
    size_t left = 0;
    for (unsigned i = 0; i < count; i++)
        left += parts[i].iov_len;
    enum rsm_status status = tcp_stream_send_some(&conn->channel, parts, count, &left);
    tcp_stage_sent(conn, left);
    if (status != RSM_ST_OK)
        (void)tcp_break_off(conn);
    return status == RSM_ST_OK && left == 0 && !tcp_channel_holds(&conn->channel);
}

/* ------------------------------------------------------------------ the port's thread */

enum sent { ALL, MORE_HAS_COME, STUCK };

/* If no other thread uses the connection. It does not wait, because other connections have writes,
 * too. */
static enum sent send_some(struct tcp_conn *conn)
{
    enum sent sent = ALL;
    if (pthread_mutex_trylock(&conn->lock) != 0)
        return STUCK;
    if (atomic_load_explicit(&conn->broken, memory_order_acquire) != RSM_ST_OK)
        sent = ALL;
    else if (!tcp_stage_push(conn))
        sent = STUCK;
    else if (tcp_stage_holds(conn))
        sent = MORE_HAS_COME;
    pthread_mutex_unlock(&conn->lock);
    return sent;
}

/* Under the sender's lock, which is released meanwhile. If none of those that wait could be served,
 * pause. */
static void serve(struct tcp_sender *sender, struct tcp_conn *conn)
{
    leave(sender, conn);
    sender->serving = conn;
    pthread_mutex_unlock(&sender->lock);
    enum sent sent = send_some(conn);
    pthread_mutex_lock(&sender->lock);
    sender->serving = NULL;
    pthread_cond_broadcast(&sender->served);
    sender->in_vain = sent == STUCK ? sender->in_vain + 1 : 0;
    if (sent == ALL)
        return;
    enter(sender, conn);
    if (sent == MORE_HAS_COME || sender->in_vain < sender->count)
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
