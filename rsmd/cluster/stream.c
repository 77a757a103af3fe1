/* SPDX-License-Identifier: BSD-3-Clause */
/* bufferevent does not suit, because it writes only from the event loop. A refusal must go out
 * before the close in the same round, and so must the announcement of the daemon's end, after the
 * last round. See "Cluster links" in doc/architecture.md. */
#include "cluster/internal.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/codec.h"

enum {
    LENGTH_BYTES = 4,
    READS_PER_TURN = 16, /* then other streams have their turn */
};

struct rsmd_stream {
    struct rsmd_stream_user user;
    int socket;
    bool connecting;
    bool paused;
    bool ended;
    struct rsmd_stream_bytes bytes;
    struct event *readable, *writable;
    struct evbuffer *in;  /* at most one frame, or a part of it; nothing in an idle stream */
    struct evbuffer *out; /* what the kernel has not taken */
};

static void end(struct rsmd_stream *stream, const char *why)
{
    if (stream->ended)
        return;
    stream->ended = true;
    event_del(stream->readable);
    event_del(stream->writable);
    stream->user.ended(stream->user.context, why);
}

static void end_with_errno(struct rsmd_stream *stream, int error)
{
    char why[128];
    snprintf(why, sizeof why, "%s", strerror(error));
    end(stream, why);
}

/* ------------------------------------------------------------------ in */

static void end_with_garbage(struct rsmd_stream *stream)
{
    static const uint8_t hello[] = {22, 3}; /* a record of TLS with a part of its handshake */
    uint8_t first[sizeof hello];
    bool tls = stream->bytes.received < RSM_CLUSTER_FRAME_MAX &&
               evbuffer_copyout(stream->in, first, sizeof first) == (ssize_t)sizeof first &&
               memcmp(first, hello, sizeof hello) == 0;
    end(stream, tls ? "it speaks TLS, and this node does not have auth = tls"
                    : "it sent what is no message of this protocol");
}

/* The length of the frame at the start of the buffer. False: that is not there yet. */
static bool peek_length(const struct rsmd_stream *stream, uint32_t *length)
{
    uint8_t word[LENGTH_BYTES];
    if (evbuffer_copyout(stream->in, word, sizeof word) < (ssize_t)sizeof word)
        return false;
    struct rsm_codec c = rsm_decoder(word, sizeof word);
    rsm_codec_u32(&c, length);
    return true;
}

/* Deliver the frame at the start of the buffer. 1: done; 0: it is not whole yet; -1: the stream has
 * ended. */
static int deliver(struct rsmd_stream *stream)
{
    struct rsm_cluster_msg msg;
    uint32_t length = 0;
    if (!peek_length(stream, &length))
        return 0;
    if (length > RSM_CLUSTER_FRAME_MAX) {
        end_with_garbage(stream);
        return -1;
    }
    if (evbuffer_get_length(stream->in) < LENGTH_BYTES + length)
        return 0;
    const uint8_t *frame = evbuffer_pullup(stream->in, LENGTH_BYTES + (ev_ssize_t)length);
    if (frame == NULL) {
        end_with_errno(stream, ENOMEM);
        return -1;
    }
    if (rsm_cluster_decode(&msg, frame + LENGTH_BYTES, length) != RSM_ST_OK) {
        end_with_garbage(stream);
        return -1;
    }
    evbuffer_drain(stream->in, LENGTH_BYTES + length);
    stream->user.message(stream->user.context, &msg);
    return stream->ended ? -1 : 1;
}

/* 1: there may be more; 0: not now; -1: the stream has ended. */
static int deliver_all(struct rsmd_stream *stream)
{
    int result = 1;
    while (result > 0 && !stream->paused)
        result = deliver(stream);
    return result < 0 ? -1 : stream->paused ? 0 : 1;
}

/* Receive what there is room for beside a part of a frame. 1: there may be more; 0: not now; -1:
 * the stream has ended. */
static int receive(struct rsmd_stream *stream)
{
    uint8_t bytes[LENGTH_BYTES + RSM_CLUSTER_FRAME_MAX];
    size_t room = sizeof bytes - evbuffer_get_length(stream->in);
    ssize_t got = recv(stream->socket, bytes, room, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got < 0 || (got > 0 && evbuffer_add(stream->in, bytes, (size_t)got) < 0)) {
        end_with_errno(stream, got < 0 ? errno : ENOMEM);
        return -1;
    }
    if (got == 0) {
        end(stream, "it closed the connection");
        return -1;
    }
    stream->bytes.received += (size_t)got;
    int delivered = deliver_all(stream);
    return delivered > 0 && (size_t)got < room ? 0 : delivered;
}

static void on_readable(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_stream *stream = argument;
    /* Frames that waited; then there is room for the rest of one. */
    int more = deliver_all(stream);
    for (int i = 0; i < READS_PER_TURN && more > 0; i++)
        more = receive(stream);
}

struct rsmd_stream_bytes rsmd_stream_bytes(const struct rsmd_stream *stream)
{
    return stream->bytes;
}

size_t rsmd_stream_queued(const struct rsmd_stream *stream)
{
    return evbuffer_get_length(stream->out);
}

void rsmd_stream_pause(struct rsmd_stream *stream)
{
    stream->paused = true;
    event_del(stream->readable);
}

void rsmd_stream_resume(struct rsmd_stream *stream)
{
    if (stream->ended || !stream->paused)
        return;
    stream->paused = false;
    event_add(stream->readable, NULL);
    /* There may be whole frames in the buffer, for which no descriptor event comes. Deliver them
     * from the loop, not amid the caller's work. */
    if (evbuffer_get_length(stream->in) > 0)
        event_active(stream->writable, EV_TIMEOUT, 0);
}

/* ------------------------------------------------------------------ out */

static int socket_error(const struct rsmd_stream *stream)
{
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(stream->socket, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? errno : error;
}

static void flush(struct rsmd_stream *stream)
{
    while (evbuffer_get_length(stream->out) > 0) {
        struct evbuffer_iovec piece;
        if (evbuffer_peek(stream->out, -1, NULL, &piece, 1) < 1)
            return;
        ssize_t sent = send(stream->socket, piece.iov_base, piece.iov_len, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
            event_add(stream->writable, NULL);
            return;
        }
        if (sent < 0) {
            /* The peer may have sent the reason: read that, and then the end. */
            evbuffer_drain(stream->out, evbuffer_get_length(stream->out));
            return;
        }
        stream->bytes.sent += (size_t)sent;
        evbuffer_drain(stream->out, (size_t)sent);
    }
}

static void on_writable(evutil_socket_t fd, short what, void *argument)
{
    (void)fd;
    struct rsmd_stream *stream = argument;
    if ((what & EV_TIMEOUT) != 0 && deliver_all(stream) < 0)
        return;
    if (stream->connecting) {
        int error = socket_error(stream);
        if (error != 0) {
            end_with_errno(stream, error);
            return;
        }
        stream->connecting = false;
        event_add(stream->readable, NULL);
        stream->user.connected(stream->user.context);
        return;
    }
    /* In either case: an event activated by hand no longer waits for the socket. */
    flush(stream);
}

int rsmd_stream_send(struct rsmd_stream *stream, const struct rsm_cluster_msg *msg)
{
    uint8_t frame[LENGTH_BYTES + RSM_CLUSTER_FRAME_MAX];
    size_t length = rsm_cluster_encode(msg, frame + LENGTH_BYTES, RSM_CLUSTER_FRAME_MAX);
    uint32_t word = (uint32_t)length;
    if (length == 0)
        return -EMSGSIZE;
    if (stream->ended)
        return -EPIPE;
    if (evbuffer_get_length(stream->out) + length + LENGTH_BYTES > RSMD_STREAM_QUEUE_MAX)
        return -ENOBUFS;
    struct rsm_codec c = rsm_encoder(frame, LENGTH_BYTES);
    rsm_codec_u32(&c, &word);
    if (evbuffer_add(stream->out, frame, LENGTH_BYTES + length) < 0)
        return -ENOBUFS;
    if (!stream->connecting)
        flush(stream);
    return 0;
}

/* ------------------------------------------------------------------ begin and end */

int rsmd_stream_socket(const struct rsmd_stream *stream)
{
    return stream->socket;
}

bool rsmd_stream_exchange(struct rsmd_stream *stream, int socket)
{
    struct event_base *base = event_get_base(stream->readable);
    event_del(stream->readable);
    event_del(stream->writable);
    close(stream->socket);
    stream->socket = socket;
    stream->connecting = false;
    stream->paused = true;
    if (event_assign(stream->readable, base, socket, EV_READ | EV_PERSIST, on_readable, stream) ==
            0 &&
        event_assign(stream->writable, base, socket, EV_WRITE, on_writable, stream) == 0)
        return true;
    stream->ended = true;
    return false;
}

struct rsmd_stream *rsmd_stream_new(struct event_base *base, int socket, bool connecting,
                                    const struct rsmd_stream_user *user)
{
    struct rsmd_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        close(socket);
        return NULL;
    }
    stream->socket = socket;
    stream->user = *user;
    stream->connecting = connecting;
    stream->in = evbuffer_new();
    stream->out = evbuffer_new();
    stream->readable = event_new(base, socket, EV_READ | EV_PERSIST, on_readable, stream);
    stream->writable = event_new(base, socket, EV_WRITE, on_writable, stream);
    if (stream->in != NULL && stream->out != NULL && stream->readable != NULL &&
        stream->writable != NULL &&
        event_add(connecting ? stream->writable : stream->readable, NULL) == 0)
        return stream;
    stream->ended = true;
    rsmd_stream_free(stream);
    return NULL;
}

void rsmd_stream_free(struct rsmd_stream *stream)
{
    if (stream->readable != NULL)
        event_free(stream->readable);
    if (stream->writable != NULL)
        event_free(stream->writable);
    if (stream->in != NULL)
        evbuffer_free(stream->in);
    if (stream->out != NULL)
        evbuffer_free(stream->out);
    if (!stream->connecting)
        shutdown(stream->socket, SHUT_WR);
    close(stream->socket);
    free(stream);
}
