/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP connections: how they begin and end. Each is a stranger until it has shown a token. Strangers
 * are kept for not longer than the time-out. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "transport/tcp/common/socket.h"
#include "transport/tcp/server/server.h"

enum { ACCEPTS = 64 /* in one turn */ };

/* A close(2) alone would reset the connection if the importer has sent what has not been read,
 * and could take from it what was sent to it before. What is read makes room in the window, which
 * SHUT_RD would keep shut: an importer that waits to send more does so, and is reset. */
static void close_stream(int socket)
{
    uint8_t bytes[TCP_OUT_BYTES];
    shutdown(socket, SHUT_WR);
    for (unsigned i = 0; i < TCP_TURN_BYTES / sizeof bytes; i++)
        if (recv(socket, bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
            break;
    close(socket);
}

void tcp_link_end(struct tcp_server *server, struct tcp_link *link)
{
    struct tcp_grant *grant = link->grant;
    if (grant == NULL) {
        tcp_stranger_remove(server, link);
    } else {
        grant->link[link->stream] = NULL;
        grant->lost |= link->stream == TCP_STREAM_DATA;
        tcp_grant_note(server, grant);
    }
    if (link->busy)
        DL_DELETE2(server->busy, link, busy_prev, busy_next);
    for (int i = 0; i < server->event_count; i++)
        if (server->events[i].data.ptr == link)
            server->events[i].data.ptr = NULL;
    close_stream(link->channel.socket);
    tcp_snapshot_release(link);
    tcp_handshake_free(link->handshake);
    tcp_records_free(link->channel.records);
    free(link);
}

static struct in6_addr source_of(const struct tcp_address *address)
{
    struct in6_addr source = IN6ADDR_ANY_INIT;
    if (address->u.any.sa_family == AF_INET6)
        return address->u.v6.sin6_addr;
    source.s6_addr32[3] = address->u.v4.sin_addr.s_addr;
    return source;
}

static void take(struct tcp_server *server, int socket, const struct tcp_address *from)
{
    struct in6_addr source = source_of(from);
    if (server->stranger_count >= server->strangers_max)
        (void)tcp_stranger_gives_way(server);
    struct tcp_link *link = calloc(1, sizeof *link);
    struct epoll_event readable = {.events = EPOLLIN, .data.ptr = link};
    if (link == NULL || epoll_ctl(server->epoll, EPOLL_CTL_ADD, socket, &readable) != 0 ||
        !tcp_stranger_add(server, link, &source)) {
        close(socket);
        free(link);
        return;
    }
    link->channel.socket = socket;
    link->since_ns = rsm_clock_ns();
}

void tcp_link_admit(struct tcp_server *server, struct tcp_link *link)
{
    tcp_stranger_remove(server, link);
    tcp_socket_set(link->channel.socket, server->timeout_ms);
}

void tcp_server_accept(struct tcp_server *server)
{
    for (unsigned i = 0; i < ACCEPTS; i++) {
        struct tcp_address from = {.length = sizeof from.u};
        int socket =
            accept4(server->listener, &from.u.any, &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0 && (errno == EMFILE || errno == ENFILE) && tcp_stranger_gives_way(server))
            continue;
        if (socket < 0)
            return;
        take(server, socket, &from);
    }
}

int tcp_server_expire(struct tcp_server *server)
{
    int64_t now = rsm_clock_ns();
    while (server->strangers != NULL && now - server->strangers->since_ns >= server->timeout_ns)
        tcp_link_end(server, server->strangers);
    if (server->strangers == NULL)
        return -1;
    return rsm_deadline_left_ms(server->strangers->since_ns + server->timeout_ns);
}
