/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/fork.h"
#include "control/runnable.h"

enum { EXTENSIONS = 3 }; /* of the time for a reply, each as long as that */

/* A request without reply so far, on the stack of the thread that waits for it. */
struct rsmcore_exchange {
    struct rsmcore_exchange *prev, *next;
    uint32_t type;
    uint32_t sequence;
    int64_t deadline;    /* ns */
    unsigned extended;   /* how often the deadline was moved */
    struct rsm_msg *msg; /* the request, then the reply */
    struct rsm_packet_fds fds;
    enum rsm_status status;
    bool over;           /* finished, and off the channel's list */
    bool asleep;         /* `wake` is initialised, and the thread waits on it */
    pthread_cond_t wake; /* signalled when it is over or is to receive */
};

/* Wait until the socket can be read or written, or the deadline. Where this thread has not run for
 * so long, what has come meanwhile counts. */
static enum rsm_status await(int socket, short events, int64_t deadline)
{
    for (;;) {
        int left = rsm_deadline_left_ms(deadline);
        struct pollfd ready = {.fd = socket, .events = events};
        int count = poll(&ready, 1, left);
        if (count > 0)
            return RSM_ST_OK;
        /* Without memory to wait: as after a time-out, rsmd may carry the request out. */
        if (left == 0 || (count < 0 && errno != EINTR))
            return RSM_ST_TIMEOUT;
    }
}

/* A daemon of this host that waits for a processor, or whose reply the receiving thread has not
 * read for want of one, is not dead: move the deadline, a few times. The reply is looked for last:
 * a daemon that has sent it sleeps. */
static bool extend(const struct rsmcore_channel *channel, struct rsmcore_exchange *mine)
{
    if (mine->extended == EXTENSIONS || (!rsmcore_peer_is_runnable(channel->socket) &&
                                         await(channel->socket, POLLIN, 0) != RSM_ST_OK))
        return false;
    mine->extended++;
    mine->deadline = rsm_deadline(channel->timeout_ms);
    return true;
}

/* await(), with the exchange's deadline. */
static enum rsm_status await_patiently(const struct rsmcore_channel *channel, short events,
                                       struct rsmcore_exchange *mine)
{
    enum rsm_status status;
    do
        status = await(channel->socket, events, mine->deadline);
    while (status == RSM_ST_TIMEOUT && extend(channel, mine));
    return status;
}

/* ---------------------------------------------------------------- who waits; under the lock */

static void finish(struct rsmcore_channel *channel, struct rsmcore_exchange *exchange,
                   enum rsm_status status)
{
    DL_DELETE(channel->waiting, exchange);
    exchange->status = status;
    exchange->over = true;
    if (exchange->asleep)
        pthread_cond_signal(&exchange->wake);
}

static struct rsmcore_exchange *find(const struct rsmcore_channel *channel, uint32_t sequence)
{
    struct rsmcore_exchange *exchange;
    DL_SEARCH_SCALAR(channel->waiting, exchange, sequence, sequence);
    return exchange;
}

/* Give the connection up. One call returns the cause, all others that it has gone. */
static void give_up(struct rsmcore_channel *channel, struct rsmcore_exchange *one,
                    enum rsm_status why)
{
    atomic_store(&channel->broken, true);
    finish(channel, one, why);
    while (channel->waiting != NULL)
        finish(channel, channel->waiting, RSM_ST_STALE);
}

/* ---------------------------------------------------------------- sending; under the lock */

/* Try to send, once. RSM_ST_BUSY: rsmd does not keep up. */
static enum rsm_status try_send(struct rsmcore_channel *channel, const struct rsm_msg *msg)
{
    size_t length = rsm_msg_encode(msg, channel->outgoing, sizeof channel->outgoing);
    if (length == 0)
        return RSM_ST_INVALID;
    int failure = rsm_packet_send(channel->socket, channel->outgoing, length, NULL, 1);
    switch (failure) {
    case 0:
        return RSM_ST_OK;
    case -EAGAIN:
        return RSM_ST_BUSY;
    case -ENOBUFS:
    case -ENOMEM:
        return RSM_ST_NO_MEMORY;
    default:
        return RSM_ST_STALE;
    }
}

/* Receives replies while it waits for room. */
static enum rsm_status send_request(struct rsmcore_channel *channel, struct rsmcore_exchange *mine)
{
    for (;;) {
        if (atomic_load(&channel->broken))
            return RSM_ST_STALE;
        enum rsm_status status = try_send(channel, mine->msg);
        if (status != RSM_ST_BUSY)
            return status;
        pthread_mutex_unlock(&channel->lock);
        status = await_patiently(channel, POLLOUT, mine);
        pthread_mutex_lock(&channel->lock);
        if (status != RSM_ST_OK)
            return status;
    }
}

/* Send a request whose reply is to be discarded. */
static enum rsm_status send_only(struct rsmcore_channel *channel, struct rsm_msg *msg)
{
    msg->sequence = ++channel->sequence;
    return try_send(channel, msg);
}

static void undo_extent(struct rsmcore_channel *channel, uint32_t extent)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_EXTENT_FREE);
    msg.u.extent_free.extent = extent;
    (void)send_only(channel, &msg);
}

static void undo_export(struct rsmcore_channel *channel, const struct rsm_export_create_reply *made)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_EXPORT_DESTROY);
    msg.u.export_destroy.export_id = made->export_id;
    (void)send_only(channel, &msg);
    if (made->extent != 0)
        undo_extent(channel, made->extent);
}

static void undo_import(struct rsmcore_channel *channel, uint32_t import)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_IMPORT_DISCONNECT);
    msg.u.import_disconnect.import = import;
    (void)send_only(channel, &msg);
}

/* The daemon still carries out a request that timed out. What it made has no owner, so the late
 * reply causes a request that gives it back. The reply to that is discarded. */
static void undo_late_success(struct rsmcore_channel *channel, const struct rsm_msg *late)
{
    if (late->status != RSM_ST_OK)
        return;
    switch (late->type & ~RSM_MSG_REPLY) {
    case RSM_MSG_EXTENT_ALLOC:
        undo_extent(channel, late->u.extent_alloc_reply.extent);
        break;
    case RSM_MSG_EXPORT_CREATE:
        undo_export(channel, &late->u.export_create_reply);
        break;
    case RSM_MSG_IMPORT_CONNECT:
        undo_import(channel, late->u.import_connect_reply.import);
        break;
    default:
        break;
    }
}

/* Handle a received packet, under the lock. `mine` is the exchange of the receiving thread. */
static void take(struct rsmcore_channel *channel, struct rsmcore_exchange *mine, ssize_t length,
                 struct rsm_packet_fds *fds)
{
    uint32_t type, sequence;
    struct rsmcore_exchange *whose = NULL;
    if (rsm_msg_peek(channel->incoming, RSM_PROTO_HEADER, &type, &sequence))
        whose = find(channel, sequence);
    if (length == -EMFILE) {
        if (whose != NULL)
            finish(channel, whose, RSM_ST_NO_RESOURCES);
        return;
    }
    /* A reply without a waiting thread is decoded into the space of this thread's reply. */
    struct rsm_msg *msg = whose != NULL ? whose->msg : mine->msg;
    enum rsm_status status =
        length > 0 ? rsm_msg_decode(msg, channel->incoming, (size_t)length) : RSM_ST_STALE;
    if (status == RSM_ST_OK && whose != NULL && msg->type != (whose->type | RSM_MSG_REPLY))
        status = RSM_ST_PROTOCOL;
    if (status == RSM_ST_OK && whose != NULL) {
        whose->fds = *fds;
        finish(channel, whose, RSM_ST_OK);
        return;
    }
    rsm_packet_fds_close(fds);
    if (status == RSM_ST_OK)
        undo_late_success(channel, msg);
    else
        give_up(channel, whose != NULL ? whose : mine, status);
}

/* Receive one packet for all threads, or until this thread's deadline. Called with the lock, which
 * is released while waiting. A thread that has just sent blocks in recvmsg() itself, which saves a
 * system call; one that has waited already has to keep its deadline. */
static void receive_one(struct rsmcore_channel *channel, struct rsmcore_exchange *mine, bool first)
{
    struct rsm_packet_fds fds = {.count = 0};
    enum rsm_status status = RSM_ST_OK;
    ssize_t length = -EAGAIN;
    channel->receiving = true;
    pthread_mutex_unlock(&channel->lock);
    memset(channel->incoming, 0, RSM_PROTO_HEADER);
    if (first)
        length =
            rsm_packet_await(channel->socket, channel->incoming, sizeof channel->incoming, &fds);
    while (length == -EAGAIN) {
        status = await_patiently(channel, POLLIN, mine);
        if (status != RSM_ST_OK)
            break;
        length = rsm_packet_receive(channel->socket, channel->incoming, sizeof channel->incoming,
                                    &fds, NULL);
    }
    pthread_mutex_lock(&channel->lock);
    channel->receiving = false;
    if (status != RSM_ST_OK)
        finish(channel, mine, status);
    else
        take(channel, mine, length, &fds);
}

/* Sleep while another thread receives: until this exchange is over, this thread is to receive, or
 * the deadline. */
static void sleep_until_woken(struct rsmcore_channel *channel, struct rsmcore_exchange *mine)
{
    rsm_cond_init(&mine->wake);
    mine->asleep = true;
    int error = 0;
    while (!mine->over && channel->receiving && (error == 0 || extend(channel, mine))) {
        const struct timespec until = rsm_timespec(mine->deadline);
        error = pthread_cond_timedwait(&mine->wake, &channel->lock, &until);
    }
    mine->asleep = false;
    pthread_cond_destroy(&mine->wake);
    if (!mine->over && channel->receiving)
        finish(channel, mine, RSM_ST_TIMEOUT);
}

/* Wait for the reply. A thread that returns while others wait makes one of them receive. */
static void await_reply(struct rsmcore_channel *channel, struct rsmcore_exchange *mine)
{
    for (bool first = true; !mine->over; first = false)
        if (channel->receiving)
            sleep_until_woken(channel, mine);
        else
            receive_one(channel, mine, first);
    struct rsmcore_exchange *next = channel->waiting;
    while (next != NULL && !next->asleep)
        next = next->next;
    if (next != NULL && !channel->receiving)
        pthread_cond_signal(&next->wake);
}

void rsmcore_channel_init(struct rsmcore_channel *channel, int socket)
{
    channel->socket = socket;
    channel->sequence = 0;
    channel->waiting = NULL;
    channel->receiving = false;
    atomic_init(&channel->broken, false);
    pthread_mutex_init(&channel->lock, NULL);
}

void rsmcore_channel_destroy(struct rsmcore_channel *channel)
{
    pthread_mutex_destroy(&channel->lock);
}

enum rsm_status rsmcore_channel_set_timeout(struct rsmcore_channel *channel, uint32_t timeout_ms)
{
    channel->timeout_ms = timeout_ms;
    return rsm_packet_await_for(channel->socket, timeout_ms) == 0 ? RSM_ST_OK : RSM_ST_NO_RESOURCES;
}

/* Send and wait, under the lock. */
static enum rsm_status exchange(struct rsmcore_channel *channel, struct rsmcore_exchange *mine)
{
    mine->sequence = mine->msg->sequence = ++channel->sequence;
    mine->msg->status = RSM_ST_OK;
    enum rsm_status status = send_request(channel, mine);
    if (status == RSM_ST_STALE)
        atomic_store(&channel->broken, true);
    if (status != RSM_ST_OK)
        return status;
    DL_APPEND(channel->waiting, mine);
    await_reply(channel, mine);
    return mine->status;
}

enum rsm_status rsmcore_channel_call(struct rsmcore_channel *channel, struct rsm_msg *msg,
                                     struct rsm_packet_fds *receive)
{
    struct rsmcore_exchange mine;
    rsmcore_fork_assert_unlocked();
    if (receive != NULL)
        receive->count = 0;
    mine.type = msg->type;
    mine.msg = msg;
    mine.fds.count = 0;
    mine.over = mine.asleep = false;
    mine.extended = 0;
    /* A thread cancelled here would leave the lock taken, and other threads waiting for it to
     * receive.
     */
    int cancellable = rsm_cancel_disable();
    pthread_mutex_lock(&channel->lock);
    mine.deadline = rsm_deadline(channel->timeout_ms);
    enum rsm_status status = exchange(channel, &mine);
    pthread_mutex_unlock(&channel->lock);

    if (status == RSM_ST_OK)
        status = (enum rsm_status)msg->status;
    if (status == RSM_ST_OK && receive != NULL)
        *receive = mine.fds;
    else
        rsm_packet_fds_close(&mine.fds);
    rsm_cancel_enable(cancellable);
    return status;
}

void rsmcore_channel_post(struct rsmcore_channel *channel, struct rsm_msg *msg)
{
    RSM_UNCANCELLABLE;
    pthread_mutex_lock(&channel->lock);
    if (send_only(channel, msg) != RSM_ST_OK)
        atomic_store(&channel->broken, true);
    pthread_mutex_unlock(&channel->lock);
}

/* Receive the replies that no thread waits for, as far as they have come. rsmd ends the connection
 * of a client that leaves too many unread. @p msg is space for them. */
static void discard_replies(struct rsmcore_channel *channel, struct rsm_msg *msg)
{
    while (!channel->receiving && channel->waiting == NULL && !atomic_load(&channel->broken)) {
        struct rsm_packet_fds fds = {.count = 0};
        ssize_t length = rsm_packet_receive(channel->socket, channel->incoming,
                                            sizeof channel->incoming, &fds, NULL);
        if (length == -EAGAIN)
            return;
        enum rsm_status status =
            length > 0 ? rsm_msg_decode(msg, channel->incoming, (size_t)length) : RSM_ST_STALE;
        rsm_packet_fds_close(&fds);
        if (status == RSM_ST_OK)
            undo_late_success(channel, msg);
        else if (length != -EMFILE)
            atomic_store(&channel->broken, true);
    }
}

void rsmcore_channel_try_post(struct rsmcore_channel *channel, struct rsm_msg *msg)
{
    RSM_UNCANCELLABLE;
    pthread_mutex_lock(&channel->lock);
    if (send_only(channel, msg) == RSM_ST_STALE)
        atomic_store(&channel->broken, true);
    discard_replies(channel, msg);
    pthread_mutex_unlock(&channel->lock);
}
