/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The messages between the node half in rsmd and rsm-tcpd, over a socket pair of type
 * SOCK_SEQPACKET. rsmd says which grants there are, with descriptors of their extents; rsm-tcpd
 * reports what importers do. Neither waits for the other.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/packet.h"
#include "transport/tcp/common/wire.h"

enum tcp_control_type {
    /* from rsmd */
    TCP_CONTROL_LISTEN = 1, /**< with the listening socket: the first message */
    TCP_CONTROL_GRANT,      /**< with a descriptor for each piece, unless there are no rights */
    TCP_CONTROL_REVOKE,     /**< answered by REVOKED */
    TCP_CONTROL_NOTIFY,     /**< signals of the exporter for this grant's importer */
    /* from rsm-tcpd */
    TCP_CONTROL_SIGNALLED, /**< the importer has signalled: `count`, `coalesced` */
    TCP_CONTROL_LOST,      /**< its connection has ended */
    TCP_CONTROL_LISTENS,   /**< it takes signals of the exporter */
    TCP_CONTROL_TAKEN,     /**< it has taken those of NOTIFY */
    TCP_CONTROL_REVOKED,   /**< no access of this grant happens any more */
    TCP_CONTROL_TYPES,
};

/** The argument of rsm-tcpd if its connections are encrypted. */
#define TCP_SERVER_ENCRYPTS "tls"

enum { TCP_CONTROL_MAX = 1280 /* bytes of the longest message */ };

struct tcp_control {
    uint32_t type; /**< enum tcp_control_type */
    uint64_t grant;
    /* LISTEN */
    uint32_t timeout_ms, spin_us;
    /* GRANT */
    uint32_t rights;
    uint32_t node; /**< the importer's; with uid, for the log */
    uint32_t uid;
    uint8_t token[TCP_STREAMS][TCP_TOKEN_BYTES];
    uint32_t pieces;
    struct {
        uint64_t offset, length; /**< bytes, in what the descriptor maps */
    } piece[RSM_OFFER_MAX_FDS];
    /* SIGNALLED, NOTIFY */
    uint32_t count;
    uint32_t coalesced;
};

/** @return bytes written, 0 if the message makes no sense. */
size_t tcp_control_encode(struct tcp_control *message, uint8_t bytes[TCP_CONTROL_MAX]);
bool tcp_control_decode(const uint8_t *bytes, size_t length, struct tcp_control *message);

/** Send a message without waiting, with descriptors or NULL. 0, or an errno: EAGAIN if the other
 *  side has not read enough. */
int tcp_control_send(int socket, struct tcp_control *message, const struct rsm_packet_fds *fds);

/** Receive one without waiting. 1; 0: there is none; -1: the other side has gone, or has sent what
 *  makes no sense. The descriptors are the caller's, also those of a message that he did not
 *  expect; NULL: none is expected. A message whose descriptors this process has no room for comes
 *  without. */
int tcp_control_receive(int socket, struct tcp_control *message, struct rsm_packet_fds *fds);
