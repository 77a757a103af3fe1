/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strangers of a controller that encrypts: the handshake takes the place of HELLO. What a stranger
 * may send and how long he may take is bounded, and without a token OpenSSL computes nothing for
 * him: it looks for the token before it makes a key.
 */
#include "transport/tcp/server/server.h"

enum { BATCH = 2 /* records; buffers of this length stay with each connection */ };

/* Its grant may be among the messages that rsmd has sent. */
static const uint8_t *find_token(void *context, const struct tcp_frame *hello)
{
    struct tcp_server *server = context;
    if (hello->id != TCP_WIRE_VERSION)
        return NULL;
    const uint8_t *token = tcp_grant_token(server, hello->offset, tcp_stream_of(hello));
    if (token == NULL && tcp_server_take_messages(server))
        token = tcp_grant_token(server, hello->offset, tcp_stream_of(hello));
    return token;
}

/* The token is used now and not before: who repeats what an importer has sent does not come so
 * far. */
static struct tcp_grant *open_grant(struct tcp_server *server, const struct tcp_frame *hello)
{
    enum tcp_stream stream = tcp_stream_of(hello);
    const uint8_t *token = tcp_grant_token(server, hello->offset, stream);
    return token != NULL ? tcp_grant_open(server, hello->offset, stream, token) : NULL;
}

static enum tcp_progress finish(struct tcp_server *server, struct tcp_link *link,
                                struct tcp_grant **grant, enum tcp_stream *stream)
{
    const struct tcp_frame *hello = tcp_handshake_hello(link->handshake);
    link->channel.records = tcp_handshake_records(link->handshake, BATCH, true);
    if (link->channel.records == NULL)
        return TCP_ENDS;
    *stream = tcp_stream_of(hello);
    *grant = open_grant(server, hello);
    tcp_handshake_free(link->handshake);
    link->handshake = NULL;
    return *grant != NULL ? TCP_GOES_ON : TCP_ENDS;
}

enum tcp_progress tcp_link_shake_hands(struct tcp_server *server, struct tcp_link *link,
                                       struct tcp_grant **grant, enum tcp_stream *stream)
{
    if (link->handshake == NULL)
        link->handshake =
            tcp_handshake_answer(server->tls, link->channel.socket, find_token, server);
    if (link->handshake == NULL)
        return TCP_ENDS;
    enum tcp_handshake_state state = tcp_handshake_step(link->handshake);
    link->handshake_writes = state == TCP_HANDSHAKE_WRITES;
    switch (state) {
    case TCP_HANDSHAKE_READS:
    case TCP_HANDSHAKE_WRITES:
        return TCP_WAITS;
    case TCP_HANDSHAKE_DONE:
        return finish(server, link, grant, stream);
    default:
        return TCP_ENDS;
    }
}
