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

enum rsm_status tcp_stream_send_some(int socket, struct iovec *parts, unsigned count, size_t *left)
{
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    while (*left > 0) {
        ssize_t sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0)
            *left = advance(parts, count, (size_t)sent);
        else if (errno == EAGAIN)
            return RSM_ST_OK;
        else if (errno != EINTR)
            return status_of_stream(errno);
    }
    return RSM_ST_OK;
}

enum rsm_status tcp_stream_send(int socket, uint32_t timeout_ms, struct iovec *parts,
                                unsigned count)
{
    size_t left = advance(parts, count, 0);
    enum rsm_status status = tcp_stream_send_some(socket, parts, count, &left);
    while (status == RSM_ST_OK && left > 0) {
        status = await(socket, POLLOUT, rsm_deadline(timeout_ms));
        if (status == RSM_ST_OK)
            status = tcp_stream_send_some(socket, parts, count, &left);
    }
    return status;
}

/* An answer comes soon or takes long: poll the socket for a while, and sleep then. */
static ssize_t receive_some(int socket, const struct tcp_options *options, struct msghdr *message)
{
    ssize_t got = recvmsg(socket, message, MSG_DONTWAIT);
    if (got >= 0 || errno != EAGAIN || options->spin_us == 0)
        return got;
    int64_t until = rsm_clock_ns() + options->spin_us * RSM_NS_PER_US;
    do {
        rsm_pause();
        got = recvmsg(socket, message, MSG_DONTWAIT);
    } while (got < 0 && errno == EAGAIN && rsm_clock_ns() < until);
    return got;
}

enum rsm_status tcp_stream_receive(int socket, const struct tcp_options *options,
                                   struct iovec *parts, unsigned count, size_t enough)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    size_t left = advance(parts, count, 0), all = left;
    while (left > 0 && all - left < enough) {
        ssize_t got = receive_some(socket, options, &message);
        if (got == 0)
            return RSM_ST_ABORTED;
        if (got > 0) {
            left = advance(parts, count, (size_t)got);
            continue;
        }
        enum rsm_status status = errno == EINTR ? RSM_ST_OK
                                 : errno == EAGAIN
                                     ? await(socket, POLLIN, rsm_deadline(options->timeout_ms))
                                     : status_of_stream(errno);
        if (status != RSM_ST_OK)
            return status;
    }
    return RSM_ST_OK;
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

static enum rsm_status greet(const struct tcp_conn *conn, int socket, enum tcp_stream stream,
                             const uint8_t *token)
{
    uint8_t bytes[TCP_FRAME_BYTES], reply[TCP_FRAME_BYTES];
    const struct tcp_frame hello = {.type = TCP_HELLO,
                                    .flags = stream == TCP_STREAM_SIGNALS ? TCP_FLAG_SIGNALS : 0,
                                    .length = TCP_TOKEN_BYTES,
                                    .offset = conn->grant,
                                    .id = TCP_WIRE_VERSION};
    struct iovec out[] = {{bytes, sizeof bytes}, {(void *)(uintptr_t)token, TCP_TOKEN_BYTES}};
    struct iovec in = {reply, sizeof reply};
    tcp_frame_encode(&hello, bytes);
    enum rsm_status status = tcp_stream_send(socket, conn->options->timeout_ms, out, 2);
    if (status == RSM_ST_OK)
        status = tcp_stream_receive(socket, conn->options, &in, 1, sizeof reply);
    if (status != RSM_ST_OK)
        return status;
    struct tcp_frame done = tcp_frame_decode(reply);
    if (!tcp_reply_is_sound(&done) || done.type != TCP_DONE)
        return RSM_ST_PROTOCOL;
    return (enum rsm_status)done.status;
}

enum rsm_status tcp_stream_open(const struct tcp_conn *conn, enum tcp_stream stream,
                                const uint8_t token[TCP_TOKEN_BYTES], int *made)
{
    int fd = rsmcore_fd_place(
        socket(conn->address.u.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return rsmcore_status_from_errno(errno);
    tcp_socket_set(fd, conn->options->timeout_ms);
    enum rsm_status status = connect_to(fd, &conn->address, conn->options->timeout_ms);
    if (status == RSM_ST_OK)
        status = greet(conn, fd, stream, token);
    if (status != RSM_ST_OK) {
        tcp_stream_close(fd);
        return status;
    }
    *made = fd;
    return RSM_ST_OK;
}

void tcp_stream_close(int socket)
{
    (void)shutdown(socket, SHUT_RDWR);
    close(socket);
}
