/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/tcp/common/socket.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

bool tcp_address_find(const char *host, uint16_t port, struct tcp_address *address)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    if (*host == '\0')
        host = "127.0.0.1";
    int error = getaddrinfo(host, service, &hints, &list);
    if (error != 0 || list == NULL || list->ai_addrlen > sizeof address->u) {
        rsm_log_error("tcp: no address of %s: %s", host, gai_strerror(error));
        if (error == 0)
            freeaddrinfo(list);
        return false;
    }
    memset(address, 0, sizeof *address);
    address->length = list->ai_addrlen;
    memcpy(&address->u, list->ai_addr, list->ai_addrlen);
    freeaddrinfo(list);
    return true;
}

uint16_t tcp_address_port(const struct tcp_address *address)
{
    return ntohs(address->u.any.sa_family == AF_INET6 ? address->u.v6.sin6_port
                                                      : address->u.v4.sin_port);
}

static void set(int socket, int level, int option, int value)
{
    (void)setsockopt(socket, level, option, &value, sizeof value);
}

void tcp_socket_set(int socket, uint32_t timeout_ms)
{
    enum { PROBES = 3, MS_PER_S = 1000 };
    int between = (int)(timeout_ms / (PROBES + 1) / MS_PER_S);
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set(socket, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1); /* a lost request or answer */
    set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)timeout_ms);
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPIDLE, between > 0 ? between : 1);
    set(socket, IPPROTO_TCP, TCP_KEEPINTVL, between > 0 ? between : 1);
    set(socket, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
}
