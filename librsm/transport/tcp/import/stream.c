/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting sends and receives. They end when the peer has not moved a byte for the time-out. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/fence.h"
#include "base/status.h"
#include "transport/tcp/import/import.h"

/* ------------------------------------------------------------------ parts */

/* Leave out what has been moved; the number of bytes left. */
static size_t advance(struct iovec *parts, unsigned count, size_t moved)
{
    size_t left = 0;
    for (unsigned i = 0; i < count; i++) {
        size_t part = moved < parts[i].iov_len ? moved : parts[i].iov_len;
        parts[i].iov_base = (uint8_t *)parts[i].iov_base + part;
        parts[i].iov_len -= part;
        moved -= part;
        left += parts[i].iov_len;
    }
    return left;
}

static enum rsm_status status_of_stream(int error)
{
    switch (error) {
    case EFAULT:
        return RSM_ST_FAULT;
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
        return RSM_ST_UNREACHABLE;
    default:
        return RSM_ST_ABORTED;
    }
}

/* Wait until the socket is ready, or the deadline has passed. There will be no room to send where
 * the peer has ended the stream. */
static enum rsm_status await(int socket, short events, int64_t deadline)
{
    struct pollfd ready = {.fd = socket, .events = (short)(events | POLLRDHUP)};
    int count;
    do
        count = poll(&ready, 1, rsm_deadline_left_ms(deadline));
    while (count < 0 && errno == EINTR);
    if (count > 0 && (ready.revents & (events | POLLERR)) == 0)
        return RSM_ST_ABORTED;
    return count > 0 ? RSM_ST_OK : RSM_ST_UNREACHABLE;
}

/* ------------------------------------------------------------------ sends and receives */

enum rsm_status tcp_stream_send_some(const struct tcp_channel *channel, struct iovec *parts,
                                     unsigned count, size_t *left)
{
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    while (*left > 0 || tcp_channel_holds(channel)) {
        ssize_t sent = tcp_channel_send(channel, &message, 0);
        if (sent >= 0)
            *left = advance(parts, count, (size_t)sent);
        else if (errno == EAGAIN)
            return RSM_ST_OK;
        else if (errno != EINTR)
            return status_of_stream(errno);
    }
    return RSM_ST_OK;
}

enum rsm_status tcp_stream_send(const struct tcp_channel *channel, uint32_t timeout_ms,
                                struct iovec *parts, unsigned count)
{
    size_t left = advance(parts, count, 0);
    enum rsm_status status = tcp_stream_send_some(channel, parts, count, &left);
    while (status == RSM_ST_OK && (left > 0 || tcp_channel_holds(channel))) {
        status = await(channel->socket, POLLOUT, rsm_deadline(timeout_ms));
        if (status == RSM_ST_OK)
            status = tcp_stream_send_some(channel, parts, count, &left);
    }
    return status;
}

/* An answer comes soon or takes long: poll the socket for a while, and sleep then. */
static ssize_t receive_some(const struct tcp_channel *channel, const struct tcp_options *options,
                            struct msghdr *message)
{
    ssize_t got = tcp_channel_receive(channel, message);
    if (got >= 0 || errno != EAGAIN || options->spin_us == 0)
        return got;
    int64_t until = rsm_clock_ns() + options->spin_us * RSM_NS_PER_US;
    do {
        rsm_pause();
        got = tcp_channel_receive(channel, message);
    } while (got < 0 && errno == EAGAIN && rsm_clock_ns() < until);
    return got;
}

enum rsm_status tcp_stream_await(const struct tcp_channel *channel, int64_t until)
{
    return await(channel->socket, POLLIN, until);
}

bool tcp_stream_has_room(const struct tcp_channel *channel)
{
    struct pollfd ready = {.fd = channel->socket, .events = POLLOUT};
    return poll(&ready, 1, 0) > 0 && ready.revents == POLLOUT;
}

enum rsm_status tcp_stream_receive_some(const struct tcp_channel *channel,
                                        const struct tcp_options *options, struct iovec *parts,
                                        unsigned count, int64_t until, size_t *moved)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    *moved = 0;
    for (;;) {
        ssize_t got = until == 0 ? tcp_channel_receive(channel, &message)
                                 : receive_some(channel, options, &message);
        if (got > 0) {
            *moved = (size_t)got;
            return RSM_ST_OK;
        }
        if (got == 0)
            return RSM_ST_ABORTED;
        if (errno == EAGAIN && until == 0)
            return RSM_ST_OK;
        enum rsm_status status = errno == EINTR    ? RSM_ST_OK
                                 : errno == EAGAIN ? await(channel->socket, POLLIN, until)
                                                   : status_of_stream(errno);
        if (status != RSM_ST_OK)
            return status;
    }
}

enum rsm_status tcp_stream_receive(const struct tcp_channel *channel,
                                   const struct tcp_options *options, void *into, size_t length)
{
    struct iovec part = {into, length};
    enum rsm_status status = RSM_ST_OK;
    while (status == RSM_ST_OK && part.iov_len > 0) {
        size_t moved;
        status = tcp_stream_receive_some(channel, options, &part, 1,
                                         rsm_deadline(options->timeout_ms), &moved);
        (void)advance(&part, 1, moved);
    }
    return status;
}

/* ------------------------------------------------------------------ begin and end */

static enum rsm_status connect_to(int socket, const struct tcp_address *address,
                                  uint32_t timeout_ms)
{
    int error = 0;
    socklen_t length = sizeof error;
    if (connect(socket, &address->u.any, address->length) == 0)
        return RSM_ST_OK;
    if (errno != EINPROGRESS && errno != EINTR)
        return RSM_ST_UNREACHABLE;
    enum rsm_status status = await(socket, POLLOUT, rsm_deadline(timeout_ms));
    if (status == RSM_ST_OK &&
        (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0))
        status = RSM_ST_UNREACHABLE;
    return status;
}

/* The end of the connection is the answer to a token that has been used or revoked. */
static enum rsm_status shake_hands(struct tcp_handshake *handshake, int socket, uint32_t timeout_ms)
{
    for (;;) {
        enum tcp_handshake_state state = tcp_handshake_step(handshake);
        if (state == TCP_HANDSHAKE_DONE)
            return RSM_ST_OK;
        if (state == TCP_HANDSHAKE_FAILED)
            return RSM_ST_ABORTED;
        enum rsm_status status = await(socket, state == TCP_HANDSHAKE_READS ? POLLIN : POLLOUT,
                                       rsm_deadline(timeout_ms));
        if (status != RSM_ST_OK)
            return status;
    }
}

/* Signals are watched by their socket, so nothing is received ahead. */
static enum rsm_status encrypt(const struct tcp_conn *conn, const struct tcp_frame *hello,
                               const uint8_t *token, struct tcp_channel *channel)
{
    enum { BATCH = 4 };
    bool signals = (hello->flags & TCP_FLAG_SIGNALS) != 0;
    struct tcp_handshake *handshake = tcp_handshake_call(conn->tls, channel->socket, hello, token);
    if (handshake == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = shake_hands(handshake, channel->socket, conn->options->timeout_ms);
    if (status == RSM_ST_OK) {
        channel->records = tcp_handshake_records(handshake, signals ? 1 : BATCH, !signals);
        status = channel->records != NULL ? RSM_ST_OK : RSM_ST_NO_MEMORY;
    }
    tcp_handshake_free(handshake);
    return status;
}

static enum rsm_status show(const struct tcp_conn *conn, const struct tcp_frame *hello,
                            const uint8_t *token, struct tcp_channel *channel)
{
    uint8_t bytes[TCP_FRAME_BYTES];
    struct iovec out[] = {{bytes, sizeof bytes}, {(void *)(uintptr_t)token, TCP_TOKEN_BYTES}};
    tcp_frame_encode(hello, bytes);
    return tcp_stream_send(channel, conn->options->timeout_ms, out, 2);
}

static enum rsm_status greet(const struct tcp_conn *conn, enum tcp_stream stream,
                             const uint8_t *token, struct tcp_channel *channel, uint64_t *can)
{
    uint8_t reply[TCP_FRAME_BYTES];
    const struct tcp_frame hello = {.type = TCP_HELLO,
                                    .flags = stream == TCP_STREAM_SIGNALS ? TCP_FLAG_SIGNALS : 0,
                                    .length = TCP_TOKEN_BYTES,
                                    .offset = conn->grant,
                                    .id = TCP_WIRE_VERSION};
    enum rsm_status status = conn->tls != NULL ? encrypt(conn, &hello, token, channel)
                                               : show(conn, &hello, token, channel);
    if (status == RSM_ST_OK)
        status = tcp_stream_receive(channel, conn->options, reply, sizeof reply);
    if (status != RSM_ST_OK)
        return status;
    struct tcp_frame done = tcp_frame_decode(reply);
    if (!tcp_reply_is_sound(&done) || done.type != TCP_DONE)
        return RSM_ST_PROTOCOL;
    *can = done.offset;
    return (enum rsm_status)done.status;
}

enum rsm_status tcp_stream_open(const struct tcp_conn *conn, enum tcp_stream stream,
                                const uint8_t token[TCP_TOKEN_BYTES], struct tcp_channel *made,
                                uint64_t *can)
{
    struct tcp_channel channel = {
        .socket = rsmcore_fd_place(
            socket(conn->address.u.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
    if (channel.socket < 0)
        return rsmcore_status_from_errno(errno);
    tcp_socket_set(channel.socket, conn->options->timeout_ms);
    enum rsm_status status = connect_to(channel.socket, &conn->address, conn->options->timeout_ms);
    if (status == RSM_ST_OK)
        status = greet(conn, stream, token, &channel, can);
    if (status != RSM_ST_OK) {
        tcp_stream_close(&channel);
        return status;
    }
    *made = channel;
    return RSM_ST_OK;
}

void tcp_stream_close(struct tcp_channel *channel)
{
    (void)shutdown(channel->socket, SHUT_RDWR);
    close(channel->socket);
    tcp_records_free(channel->records);
    *channel = (struct tcp_channel){.socket = -1};
}
