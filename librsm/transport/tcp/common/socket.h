/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Addresses and settings of TCP sockets, for both halves and rsm-tcpd. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/** An address with its length, as socket calls want it. */
struct tcp_address {
    socklen_t length;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage room;
    } u;
};

/** Find the address of @p host, a name or a number; "": the loopback one. May ask name servers.
 *  False, with a line in the log: there is none. */
bool tcp_address_find(const char *host, uint16_t port, struct tcp_address *address);

/** The port in it. */
uint16_t tcp_address_port(const struct tcp_address *address);

/** What a connection's socket is set to: small frames leave at once, and a host that does not
 *  answer for @p timeout_ms milliseconds is dead, also while nothing is sent. */
void tcp_socket_set(int socket, uint32_t timeout_ms);
