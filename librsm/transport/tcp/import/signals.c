/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals of the exporter, on a TCP connection of their own. Its descriptor is an epoll instance,
 * because the program's thread watches it before there is a connection. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/descriptor.h"
#include "base/status.h"
#include "transport/tcp/import/import.h"

static int signals_fd(struct rsm_conn *base)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    if (conn->signals < 0)
        conn->signals = rsmcore_fd_place(epoll_create1(EPOLL_CLOEXEC));
    return conn->signals;
}

static enum rsm_status signals_arm(struct rsm_conn *base)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    struct epoll_event readable = {.events = EPOLLIN};
    struct tcp_channel channel;
    uint64_t can;
    if (conn->signal_socket >= 0)
        return RSM_ST_OK;
    enum rsm_status status =
        tcp_stream_open(conn, TCP_STREAM_SIGNALS, conn->signal_token, &channel, &can);
    if (status != RSM_ST_OK)
        return status;
    conn->signal_records = channel.records;
    atomic_store(&conn->signal_socket, channel.socket); /* before another thread polls it */
    if (epoll_ctl(conn->signals, EPOLL_CTL_ADD, channel.socket, &readable) == 0)
        return RSM_ST_OK;
    status = rsmcore_status_from_errno(errno);
    atomic_store(&conn->signal_socket, -1);
    conn->signal_records = NULL;
    tcp_stream_close(&channel);
    return status;
}

static struct tcp_channel channel_of(struct tcp_conn *conn)
{
    int socket = atomic_load(&conn->signal_socket);
    return (struct tcp_channel){socket, socket >= 0 ? conn->signal_records : NULL};
}

static enum rsm_status signals_poll(struct rsm_conn *base, struct rsm_signals *taken)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    const struct tcp_channel channel = channel_of(conn);
    struct iovec part = {conn->signal_bytes + conn->signal_got, TCP_FRAME_BYTES - conn->signal_got};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    *taken = (struct rsm_signals){0, false};
    if (channel.socket < 0)
        return RSM_ST_OK;
    ssize_t got = tcp_channel_receive(&channel, &message);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return RSM_ST_OK;
    if (got <= 0)
        return RSM_ST_ABORTED;
    conn->signal_got += (uint32_t)got;
    if (conn->signal_got < TCP_FRAME_BYTES)
        return RSM_ST_OK;
    struct tcp_frame frame = tcp_frame_decode(conn->signal_bytes);
    conn->signal_got = 0;
    if (!tcp_reply_is_sound(&frame) || frame.type != TCP_SIGNAL)
        return RSM_ST_PROTOCOL;
    *taken = (struct rsm_signals){frame.length, (frame.flags & TCP_FLAG_COALESCED) != 0};
    return RSM_ST_OK;
}

/* If it does not fit into the socket, rsm-tcpd has read nothing for long, and the stream ends. */
static void signals_acknowledge(struct rsm_conn *base)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    const struct tcp_frame frame = {.type = TCP_TAKEN};
    uint8_t bytes[TCP_FRAME_BYTES];
    struct iovec part = {bytes, sizeof bytes};
    const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    const struct tcp_channel channel = channel_of(conn);
    tcp_frame_encode(&frame, bytes);
    if (channel.socket >= 0 && (tcp_channel_send(&channel, &message, 0) != (ssize_t)sizeof bytes ||
                                tcp_channel_holds(&channel)))
        (void)shutdown(channel.socket, SHUT_RDWR);
}

const struct rsm_signal_ops tcp_signal_ops = {
    .size = sizeof(struct rsm_signal_ops),
    .post = tcp_post,
    .fd = signals_fd,
    .arm = signals_arm,
    .poll = signals_poll,
    .acknowledge = signals_acknowledge,
};
