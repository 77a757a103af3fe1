/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/tcp/common/wire.h"

#include "base/codec.h"
#include "base/status.h"

/* In the word of the port: to a version that does not know it, no port. */
#define OFFER_TLS 0x80000000u

enum { PORT_MAX = 65535 };

static bool has_elements(const struct tcp_frame *frame)
{
    switch (frame->width) {
    case 1:
    case 2:
    case 4:
    case 8:
        return (frame->length | frame->offset) % frame->width == 0;
    default:
        return false;
    }
}

bool tcp_request_is_sound(const struct tcp_frame *frame)
{
    bool plain = frame->flags == 0 && frame->status == 0;
    switch (frame->type) {
    case TCP_HELLO:
        return (frame->flags & ~TCP_FLAG_SIGNALS) == 0 && frame->status == 0 && frame->width == 0 &&
               frame->length == TCP_TOKEN_BYTES;
    case TCP_PUT:
        return plain && frame->width == 0 && frame->length <= TCP_PAYLOAD_MAX;
    case TCP_GET:
        return (frame->flags & ~TCP_FLAG_SNAPSHOT) == 0 && frame->status == 0 &&
               frame->width == 0 && frame->length <= TCP_PAYLOAD_MAX;
    case TCP_PUT_ELEMS:
    case TCP_GET_ELEMS:
        return plain && frame->length <= TCP_PAYLOAD_MAX && has_elements(frame);
    case TCP_FLUSH:
    case TCP_TAKEN:
        return plain && frame->width == 0 && frame->length == 0 && frame->offset == 0;
    case TCP_SIGNAL:
        return (frame->flags & ~TCP_FLAG_COALESCED) == 0 && frame->status == 0 &&
               frame->width == 0 && frame->length == 0 && frame->offset == 0;
    default:
        return false;
    }
}

bool tcp_reply_is_sound(const struct tcp_frame *frame)
{
    if (frame->width != 0 || !rsmcore_status_known(frame->status))
        return false;
    switch (frame->type) {
    case TCP_DATA:
        return (frame->flags & ~TCP_FLAG_SNAPSHOT) == 0 && frame->length <= TCP_PAYLOAD_MAX &&
               frame->offset == 0 && (frame->status == RSM_ST_OK || frame->length == 0);
    case TCP_DONE:
        return frame->flags == 0 && frame->length == 0;
    case TCP_SIGNAL:
        return (frame->flags & ~TCP_FLAG_COALESCED) == 0 && frame->status == 0 &&
               frame->offset == 0 && frame->length <= RSM_SIGNALS_MAX &&
               (frame->length > 0 || frame->flags != 0);
    default:
        return false;
    }
}

/* ------------------------------------------------------------------ offers */

static void walk_offer(struct rsm_codec *codec, uint32_t *version, struct tcp_offer *offer)
{
    rsm_codec_u32(codec, version);
    uint32_t port = offer->port | (offer->tls ? OFFER_TLS : 0);
    rsm_codec_u32(codec, &port);
    offer->tls = (port & OFFER_TLS) != 0;
    offer->port = port & ~OFFER_TLS;
    rsm_codec_u64(codec, &offer->grant);
    rsm_codec_bytes(codec, offer->token, sizeof offer->token);
}

void tcp_offer_encode(const struct tcp_offer *offer, uint8_t bytes[TCP_OFFER_BYTES])
{
    uint32_t version = TCP_WIRE_VERSION;
    struct tcp_offer copy = *offer;
    struct rsm_codec codec = rsm_encoder(bytes, TCP_OFFER_BYTES);
    walk_offer(&codec, &version, &copy);
}

enum rsm_status tcp_offer_decode(const uint8_t *bytes, size_t length, struct tcp_offer *offer)
{
    uint32_t version = 0;
    struct rsm_codec codec = rsm_decoder(bytes, length);
    memset(offer, 0, sizeof *offer);
    walk_offer(&codec, &version, offer);
    if (codec.bad || codec.left != 0 || offer->port == 0 || offer->port > PORT_MAX)
        return RSM_ST_PROTOCOL;
    return version == TCP_WIRE_VERSION ? RSM_ST_OK : RSM_ST_PROTOCOL;
}

bool tcp_token_equals(const uint8_t a[TCP_TOKEN_BYTES], const uint8_t b[TCP_TOKEN_BYTES])
{
    volatile uint8_t differs = 0;
    for (unsigned i = 0; i < TCP_TOKEN_BYTES; i++)
        differs |= a[i] ^ b[i];
    return differs == 0;
}
