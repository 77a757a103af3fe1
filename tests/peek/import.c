/* SPDX-License-Identifier: BSD-3-Clause */
/* The import half: one packet and one answer for each chunk that is moved. */
#include <sys/random.h>

#include "peek.h"

#if defined(PEEK_COUNTS)
#define PEEK_CAPS RSM_CAP_ASYNC
#elif defined(PEEK_MAPPABLE)
#define PEEK_CAPS (RSM_CAP_REMOTE_SIGNAL | RSM_CAP_FAULT_SAFE)
#elif defined(PEEK_SIGNALS)
#define PEEK_CAPS RSM_CAP_REMOTE_SIGNAL
#else
#define PEEK_CAPS 0
#endif

enum { PATIENCE_MS = 3000, WORKS = 12, FEW_WORKS = 4, PHASE = 16 };

struct peek_conn {
    struct rsm_conn base;
    int socket;
    int listening; /* for signals of the exporter, from arm() on; -1 without them */
    struct peek_blob blob;
    pthread_mutex_t lock; /* one request at a time; guards what follows */
    atomic_int broken;    /* enum rsm_status: what every further access gets; read by anybody */
    struct rsm_work works[WORKS];
    unsigned work_count;
    struct rsm_completion ended[WORKS];
    unsigned ended_count, running, asked, waits;
};

static struct peek_conn *conn_of(struct rsm_conn *base)
{
    return RSM_CONTAINER_OF(base, struct peek_conn, base);
}

/* ------------------------------------------------------------------ packets */

static enum rsm_status exchange(int socket, const struct peek_request *request, size_t sent,
                                struct peek_reply *reply, size_t wanted)
{
    struct pollfd readable = {.fd = socket, .events = POLLIN};
    ssize_t length;
    int ready;
    do
        length = send(socket, request, sent, MSG_NOSIGNAL);
    while (length < 0 && errno == EINTR);
    if (length != (ssize_t)sent)
        return RSM_ST_TRANSFER;
    do
        ready = poll(&readable, 1, PATIENCE_MS);
    while (ready < 0 && errno == EINTR);
    if (ready != 1)
        return RSM_ST_TRANSFER;
    length = recv(socket, reply, sizeof *reply, MSG_DONTWAIT);
    if (length < (ssize_t)PEEK_REPLY_BYTES)
        return RSM_ST_TRANSFER;
    if (reply->status == RSM_ST_OK && length != (ssize_t)(PEEK_REPLY_BYTES + wanted))
        return RSM_ST_TRANSFER;
    return (enum rsm_status)reply->status;
}

static enum rsm_status ask(struct peek_conn *conn, const struct peek_request *request,
                           size_t outward, struct peek_reply *reply, size_t inward)
{
    enum rsm_status status = (enum rsm_status)atomic_load(&conn->broken);
    if (status == RSM_ST_OK)
        status = exchange(conn->socket, request, offsetof(struct peek_request, data) + outward,
                          reply, inward);
    atomic_store(&conn->broken, (int)status);
    while (PEEK_MISTAKE == PEEK_DEAF && status == RSM_ST_TRANSFER)
        pause();
    return status;
}

/* ------------------------------------------------------------------ port and connection */

/* Called while a port is being opened, if the program has it. */
void peek_opening(void) __attribute__((weak, visibility("default")));

static enum rsm_status peek_open(const struct rsm_controller_info *info, struct rsm_port **port)
{
    if (info->peer_timeout_ms == 0) /* what every transport is to be told */
        return RSM_ST_INVALID;
    if (peek_opening != NULL)
        peek_opening();
    *port = calloc(1, sizeof **port);
    if (*port == NULL)
        return RSM_ST_NO_MEMORY;
    (*port)->caps = PEEK_CAPS;
    return RSM_ST_OK;
}

static void peek_close(struct rsm_port *port)
{
    free(port);
}

/* A socket to the exporter, whose daemon may end at any moment. */
static enum rsm_status reach(const struct peek_blob *blob, int *reached)
{
    struct sockaddr_un address;
    socklen_t length = peek_address(&address, blob->name, blob->length);
    int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int fd = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, 3); /* not a standard stream */
    if (made >= 0)
        close(made);
    if (fd < 0)
        return RSM_ST_NO_RESOURCES;
    if (connect(fd, (const struct sockaddr *)&address, length) != 0) {
        close(fd);
        return RSM_ST_UNREACHABLE;
    }
    *reached = fd;
    return RSM_ST_OK;
}

/* Another one each time. */
static enum rsm_status peek_connect_request(struct rsm_port *port,
                                            struct rsm_connect_request *request)
{
    if (request->size < sizeof *request || request->node == 0 || request->address == NULL)
        return RSM_ST_INVALID;
    request->length = PEEK_REQUEST_BYTES;
    return getrandom(request->data, PEEK_REQUEST_BYTES, 0) == PEEK_REQUEST_BYTES
               ? RSM_ST_OK
               : RSM_ST_NO_RESOURCES;
}

/* Whether the exporter's node has what this process asked it, and the address by which this host knows
 * it. */
static bool is_for_us(const struct peek_blob *blob, const struct rsm_offer *offer)
{
    return offer->address != NULL &&
           strncmp(blob->address, offer->address, sizeof blob->address) == 0 &&
           blob->request_len == offer->request_len &&
           (offer->request_len == 0 ||
            memcmp(blob->request, offer->request, offer->request_len) == 0);
}

static enum rsm_status peek_connect(struct rsm_port *port, const struct rsm_offer *offer,
                                    uint64_t size, uint32_t rights, struct rsm_conn **made)
{
    struct peek_blob blob;
    struct peek_request request = {.operation = PEEK_BEGIN};
    struct peek_reply reply;
    (void)size, (void)rights;
    if (offer->size < sizeof *offer || offer->node == 0) /* what every transport is to be told */
        return RSM_ST_INVALID;
    if (offer->fd_count != 0 || offer->blob_len != sizeof blob)
        return RSM_ST_PROTOCOL;
    memcpy(&blob, offer->blob, sizeof blob);
    if (blob.length > PEEK_NAME_BYTES || blob.request_len > PEEK_REQUEST_BYTES ||
        !is_for_us(&blob, offer))
        return RSM_ST_PROTOCOL;
    struct peek_conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL)
        return RSM_ST_NO_MEMORY;
    conn->base.caps = port->caps;
    conn->socket = conn->listening = -1;
    request.offset = blob.key;
    enum rsm_status status = reach(&blob, &conn->socket);
    if (status == RSM_ST_OK)
        status = ask(conn, &request, 0, &reply, 0);
#ifdef PEEK_SIGNALS
    conn->blob = blob;
    if (status == RSM_ST_OK)
        status = reach(&blob, &conn->listening);
    request.operation = PEEK_JOIN;
    if (status == RSM_ST_OK && send(conn->listening, &request, offsetof(struct peek_request, data),
                                    MSG_NOSIGNAL) != (ssize_t)offsetof(struct peek_request, data))
        status = RSM_ST_UNREACHABLE;
#endif
    if (status != RSM_ST_OK) {
        if (conn->listening >= 0)
            close(conn->listening);
        if (conn->socket >= 0)
            close(conn->socket);
        free(conn);
        return status;
    }
    pthread_mutex_init(&conn->lock, NULL);
    *made = &conn->base;
    return RSM_ST_OK;
}

static void peek_disconnect(struct rsm_conn *base)
{
    struct peek_conn *conn = conn_of(base);
    if (conn->listening >= 0)
        close(conn->listening);
    close(conn->socket);
    pthread_mutex_destroy(&conn->lock);
    free(conn);
}

/* ------------------------------------------------------------------ transfer */

/* No lock is held while the caller's memory is touched, which may be a mapping. */
static enum rsm_status ask_alone(struct peek_conn *conn, const struct peek_request *request,
                                 size_t outward, struct peek_reply *reply, size_t inward)
{
    int cancellable;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
    pthread_mutex_lock(&conn->lock);
    enum rsm_status status = ask(conn, request, outward, reply, inward);
    pthread_mutex_unlock(&conn->lock);
    pthread_setcancelstate(cancellable, NULL);
    return status;
}

static enum rsm_status move(struct rsm_conn *base, enum peek_operation operation, uint64_t offset,
                            void *local, size_t length, unsigned width)
{
    struct peek_conn *conn = conn_of(base);
    struct peek_request request = {.operation = operation, .width = width};
    struct peek_reply reply;
    enum rsm_status status = RSM_ST_OK;
    bool put = operation == PEEK_PUT;
    for (size_t done = 0; status == RSM_ST_OK && done < length; done += request.length) {
        uint8_t *here = (uint8_t *)local + done;
        request.offset = offset + done;
        request.length = (uint32_t)(length - done < PEEK_CHUNK ? length - done : PEEK_CHUNK);
        if (put)
            memcpy(request.data, here, request.length);
        status =
            ask_alone(conn, &request, put ? request.length : 0, &reply, put ? 0 : request.length);
        if (status == RSM_ST_OK && !put)
            memcpy(here, reply.data, request.length);
    }
    return status;
}

static enum rsm_status peek_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                size_t length)
{
    enum rsm_status status = move(conn, PEEK_PUT, offset, (void *)(uintptr_t)src, length, 0);
    if (status != RSM_ST_OK && (PEEK_CAPS & RSM_CAP_ASYNC) != 0) {
        rsm_conn_failed(conn);
        status = RSM_ST_OK;
    }
    return PEEK_MISTAKE == PEEK_DROPPED ? RSM_ST_OK : status;
}

static enum rsm_status peek_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    return move(conn, PEEK_GET, offset, dst, length, 0);
}

static enum rsm_status peek_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                      unsigned width, size_t count)
{
    return move(conn, PEEK_PUT, offset, (void *)(uintptr_t)src, count * width, width);
}

static enum rsm_status peek_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst,
                                      unsigned width, size_t count)
{
    return move(conn, PEEK_GET, offset, dst, count * width, width);
}

static enum rsm_status peek_order(struct rsm_conn *base)
{
    (void)base; /* each access has happened when its call returns */
    return RSM_ST_OK;
}

static enum rsm_status peek_complete(struct rsm_conn *base)
{
    if (PEEK_MISTAKE == PEEK_FALLING)
        __atomic_store_n(&base->failures, 0, __ATOMIC_RELEASE);
    (void)base; /* and what failed, the call has returned, or it is counted */
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ works */

/* A work is carried out when somebody waits: the latest, and the next time the oldest. The room
 * changes, as in a fabric that others use, too: more works than a queue of DMA has under way, or
 * fewer. */
static enum rsm_status peek_submit(struct rsm_conn *base, const struct rsm_work *work)
{
    struct peek_conn *conn = conn_of(base);
    pthread_mutex_lock(&conn->lock);
    unsigned most = conn->asked++ / PHASE % 2 == 0 ? WORKS : FEW_WORKS;
    bool room = conn->work_count + conn->ended_count + conn->running < most;
    if (room)
        conn->works[conn->work_count++] = *work;
    pthread_mutex_unlock(&conn->lock);
    return room ? RSM_ST_OK : RSM_ST_BUSY;
}

static unsigned peek_poll_works(struct rsm_conn *base, struct rsm_completion *taken, unsigned most)
{
    struct peek_conn *conn = conn_of(base);
    unsigned count = 0;
    pthread_mutex_lock(&conn->lock);
    while (count < most && conn->ended_count > 0)
        taken[count++] = conn->ended[--conn->ended_count];
    pthread_mutex_unlock(&conn->lock);
    return count;
}

static enum rsm_status peek_wait_for_works(struct rsm_conn *base, int timeout_ms)
{
    struct peek_conn *conn = conn_of(base);
    struct rsm_work work;
    (void)timeout_ms; /* it takes no longer than the exporter */
    pthread_mutex_lock(&conn->lock);
    bool any = conn->ended_count > 0, more = !any && conn->work_count > 0;
    if (more) {
        unsigned index = conn->waits++ % 2 == 0 ? conn->work_count - 1 : 0;
        work = conn->works[index];
        conn->work_count--;
        memmove(&conn->works[index], &conn->works[index + 1],
                (conn->work_count - index) * sizeof conn->works[0]);
        conn->running++;
    }
    pthread_mutex_unlock(&conn->lock);
    if (!more)
        return any ? RSM_ST_OK : RSM_ST_NOT_FOUND;
    struct rsm_completion completion = {.cookie = work.cookie};
    completion.status = move(base, work.read ? PEEK_GET : PEEK_PUT, work.transfer.remote,
                             work.transfer.local, work.transfer.length, 0);
    pthread_mutex_lock(&conn->lock);
    conn->running--;
    conn->ended[conn->ended_count++] = completion;
    pthread_mutex_unlock(&conn->lock);
    return RSM_ST_OK;
}

static const struct rsm_completion_ops completion_ops = {
    .size = sizeof(struct rsm_completion_ops),
    .submit = peek_submit,
    .poll = peek_poll_works,
    .wait = peek_wait_for_works,
};

/* ------------------------------------------------------------------ health and signals */

/* What is broken stays so, and every barrier says it. */
static enum rsm_status peek_health(struct rsm_conn *base)
{
    return (enum rsm_status)atomic_load(&conn_of(base)->broken);
}

#ifdef PEEK_SIGNALS
static enum rsm_status peek_signal(struct rsm_conn *base, bool coalesce)
{
    struct peek_conn *conn = conn_of(base);
    struct peek_request request = {.operation = PEEK_SIGNAL, .offset = coalesce};
    struct peek_reply reply;
    pthread_mutex_lock(&conn->lock);
    enum rsm_status status = ask(conn, &request, 0, &reply, 0);
    pthread_mutex_unlock(&conn->lock);
    return status;
}

static int peek_signal_fd(struct rsm_conn *base)
{
    return conn_of(base)->listening;
}

static enum rsm_status peek_arm_signals(struct rsm_conn *base)
{
    struct peek_conn *conn = conn_of(base);
    struct peek_request request = {.operation = PEEK_LISTEN, .offset = conn->blob.key};
    return send(conn->listening, &request, offsetof(struct peek_request, data), MSG_NOSIGNAL) > 0
               ? RSM_ST_OK
               : RSM_ST_UNREACHABLE;
}

static enum rsm_status peek_poll_signals(struct rsm_conn *base, struct rsm_signals *taken)
{
    struct peek_conn *conn = conn_of(base);
    struct peek_signals packet;
    *taken = (struct rsm_signals){.count = 0};
    ssize_t length = recv(conn->listening, &packet, sizeof packet, MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return RSM_ST_OK;
    if (length != (ssize_t)sizeof packet)
        return RSM_ST_TRANSFER;
    *taken = (struct rsm_signals){.count = packet.count, .coalesced = packet.coalesced != 0};
    return RSM_ST_OK;
}

/* If nobody is there to hear it no further one comes. */
static void peek_acknowledge_signals(struct rsm_conn *base)
{
    struct peek_request request = {.operation = PEEK_TAKEN};
    ssize_t ignored =
        send(conn_of(base)->listening, &request, offsetof(struct peek_request, data), MSG_NOSIGNAL);
    (void)ignored;
}

static const struct rsm_signal_ops signal_ops = {
    .size = sizeof(struct rsm_signal_ops),
    .post = peek_signal,
    .fd = peek_signal_fd,
    .arm = peek_arm_signals,
    .poll = peek_poll_signals,
    .acknowledge = peek_acknowledge_signals,
};
#endif

PEEK_VISIBLE extern const struct rsm_import_ops rsm_transport_import_ops_v1;
const struct rsm_import_ops rsm_transport_import_ops_v1 = {
    RSM_IMPORT_OPS_HEAD,
    .name = PEEK_NAME,
    .open = peek_open,
    .close = peek_close,
    .connect = peek_connect,
    .connect_request = peek_connect_request,
    .disconnect = peek_disconnect,
    .put = peek_put,
    .get = peek_get,
    .put_elems = peek_put_elems,
    .get_elems = peek_get_elems,
    .order = peek_order,
    .complete = peek_complete,
    .health = peek_health,
    .completions = &completion_ops,
#ifdef PEEK_SIGNALS
    .signals = &signal_ops,
#endif
};
