/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The handshake of TLS 1.3 for connections over TCP, by OpenSSL. The two ends know each other by
 * the token of the offer, which is the pre-shared key. Its identity, which everybody can read, is
 * the header of HELLO: the grant's number and the stream, and nothing of the token. Both ends also
 * exchange keys that are made for this connection alone (psk_dhe_ke), so that who learns the token
 * later cannot read what has been sent.
 *
 * OpenSSL has a library context of its own, which neither the program's settings nor its use of
 * OpenSSL touch. No call waits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "transport/tcp/common/records.h"
#include "transport/tcp/common/wire.h"

struct tcp_tls;
struct tcp_handshake;

/** What all handshakes of one end need. NULL, with a line in the log: OpenSSL refuses. */
struct tcp_tls *tcp_tls_make(bool answers);
void tcp_tls_free(struct tcp_tls *tls);

/** A handshake as the calling end. NULL: there is no memory. */
struct tcp_handshake *tcp_handshake_call(struct tcp_tls *tls, int socket,
                                         const struct tcp_frame *hello,
                                         const uint8_t token[TCP_TOKEN_BYTES]);

/** The token for a HELLO; NULL: there is none. */
typedef const uint8_t *tcp_token_find(void *context, const struct tcp_frame *hello);

/** One as the end that is called. Its HELLO is sound when @p find is asked for the token. */
struct tcp_handshake *tcp_handshake_answer(struct tcp_tls *tls, int socket, tcp_token_find *find,
                                           void *context);
void tcp_handshake_free(struct tcp_handshake *handshake);

enum tcp_handshake_state {
    TCP_HANDSHAKE_READS,  /**< it goes on when the socket is readable */
    TCP_HANDSHAKE_WRITES, /**< or writable */
    TCP_HANDSHAKE_FAILED, /**< other token, no TLS, the end of the connection */
    TCP_HANDSHAKE_DONE,   /**< the peer has the token */
};

/** Go on as far as the socket lets. */
enum tcp_handshake_state tcp_handshake_step(struct tcp_handshake *handshake);

/** Behind DONE: what the calling end has said. */
const struct tcp_frame *tcp_handshake_hello(const struct tcp_handshake *handshake);
/** And the records of the connection, as tcp_records_make(). NULL: there is no memory. */
struct tcp_records *tcp_handshake_records(const struct tcp_handshake *handshake, unsigned batch,
                                          bool ahead);

/** A handshake between two ends here, so that what OpenSSL does once is done. False, with a line in
 *  the log: it fails. */
bool tcp_tls_rehearse(struct tcp_tls *answers);
