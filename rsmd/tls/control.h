/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The messages between rsmd and rsm-tlsd, over a socket pair of type SOCK_SEQPACKET. rsmd passes
 * certificates and connections; rsm-tlsd reports who is at the other end of a connection. rsmd
 * never waits for rsm-tlsd.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/packet.h"

enum rsmd_tls_control_type {
    /* from rsmd */
    RSMD_TLS_LOAD = 1, /**< with descriptors of the CA's certificates, the certificate and the key
                            of `node` */
    RSMD_TLS_START,    /**< with the TCP connection, and the end of a pair for its plain bytes */
    /* from rsm-tlsd */
    RSMD_TLS_LOADED, /**< answers LOAD: `node`, `expires`; or a text, and the former files stay */
    RSMD_TLS_READY,  /**< the handshake is done: `node`, `expires` of the other end */
    RSMD_TLS_FAILED, /**< the connection has ended, and the text says why; `node`: what the other
                          end claims to be, without proof; 0: nothing */
    RSMD_TLS_TYPES,
};

enum {
    RSMD_TLS_TEXT_MAX = 200,
    RSMD_TLS_LOAD_FDS = 3, /* descriptors with LOAD */
    RSMD_TLS_START_FDS = 2,
    RSMD_TLS_CONTROL_MAX = 256, /* bytes of a message */
};

struct rsmd_tls_control {
    uint32_t type;   /**< enum rsmd_tls_control_type */
    uint64_t id;     /**< of a connection, chosen by rsmd; 0: of none */
    uint32_t caller; /**< START: 1 if this end has called */
    uint32_t node;
    uint64_t expires; /**< of a certificate, in seconds since 1970; 0: of none */
    char text[RSMD_TLS_TEXT_MAX];
};

/** Bytes written, 0 if the message makes no sense. */
size_t rsmd_tls_control_encode(struct rsmd_tls_control *message,
                               uint8_t bytes[RSMD_TLS_CONTROL_MAX]);
bool rsmd_tls_control_decode(const uint8_t *bytes, size_t length, struct rsmd_tls_control *message);

/** Send a message without waiting, with descriptors or NULL. 0, or an errno: EAGAIN if the other
 *  side has not read enough. */
int rsmd_tls_control_send(int socket, struct rsmd_tls_control *message,
                          const struct rsm_packet_fds *fds);

/** Receive one without waiting. 1; 0: there is none; -1: the other side has gone, or has sent what
 *  makes no sense. The descriptors are the caller's; NULL: none is expected. A message whose
 *  descriptors this process has no room for comes without. */
int rsmd_tls_control_receive(int socket, struct rsmd_tls_control *message,
                             struct rsm_packet_fds *fds);
