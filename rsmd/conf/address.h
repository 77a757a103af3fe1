/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Where a node's rsmd is found: as written in rsm.conf, and as socket addresses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { RSM_CLUSTER_PORT = 9247 }; /**< the default port of links */

#include "protocol/proto.h"

enum {
    RSMD_ADDRESSES_MAX = 8,       /* of one name that are tried */
    RSMD_ADDRESS_TEXT_BYTES = 72, /* "[IPv6%scope]:port" */
};

struct rsmd_address {
    socklen_t length;
    struct sockaddr_storage socket;
};

struct rsmd_addresses {
    unsigned count;
    struct rsmd_address list[RSMD_ADDRESSES_MAX];
};

/** Parse `HOST`, `HOST:PORT`, `[IPv6]` or `[IPv6]:PORT`. @p host has RSM_PROTO_NAME_MAX bytes and
 *  gets no brackets; the default port is RSM_CLUSTER_PORT. False: none of these. */
bool rsmd_address_parse(const char *text, char *host, uint16_t *port);

/** Whether a host as written can only mean this machine: 127.0.0.0/8, ::1, localhost. */
bool rsmd_host_is_loopback(const char *host);

bool rsmd_address_is_loopback(const struct rsmd_address *address);

/** Addresses of a host that is written as an address; never blocks. False: it is a name. */
bool rsmd_address_literal(const char *host, uint16_t port, struct rsmd_addresses *found);

/** Ask the resolver, which may block for long. NULL, or why there is no address. */
const char *rsmd_address_resolve(const char *host, uint16_t port, struct rsmd_addresses *found);

/** Whether an address is one of those found, whatever the ports. */
bool rsmd_addresses_have(const struct rsmd_addresses *found, const struct rsmd_address *address);

/** Bind a socket to the first of @p own from which the host can connect to @p to: of the same
 *  family, and a loopback address if @p to is one. False: there is none, and it is not bound. */
bool rsmd_addresses_bind(const struct rsmd_addresses *own, int socket,
                         const struct rsmd_address *to);

/** Print all of them, without ports, as many as fit into @p size. */
void rsmd_addresses_text(const struct rsmd_addresses *found, char *text, size_t size);

/** Print one, with the port if @p port. @p text has RSMD_ADDRESS_TEXT_BYTES bytes. */
void rsmd_address_text(const struct rsmd_address *address, bool port, char *text);
