/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/tcp/common/control.h"

#include <errno.h>
#include <string.h>

#include "base/codec.h"

/* ------------------------------------------------------------------ the codec */

static void walk_grant(struct rsm_codec *codec, struct tcp_control *message)
{
    rsm_codec_u32(codec, &message->rights);
    rsm_codec_u32(codec, &message->node);
    rsm_codec_u32(codec, &message->uid);
    rsm_codec_bytes(codec, message->token, sizeof message->token);
    rsm_codec_count(codec, &message->pieces, RSM_OFFER_MAX_FDS);
    for (uint32_t i = 0; i < message->pieces; i++) {
        rsm_codec_u64(codec, &message->piece[i].offset);
        rsm_codec_u64(codec, &message->piece[i].length);
    }
}

static void walk(struct rsm_codec *codec, struct tcp_control *message)
{
    rsm_codec_u32(codec, &message->type);
    rsm_codec_u64(codec, &message->grant);
    switch (message->type) {
    case TCP_CONTROL_LISTEN:
        rsm_codec_u32(codec, &message->timeout_ms);
        rsm_codec_u32(codec, &message->spin_us);
        break;
    case TCP_CONTROL_GRANT:
        walk_grant(codec, message);
        break;
    case TCP_CONTROL_NOTIFY:
    case TCP_CONTROL_SIGNALLED:
        rsm_codec_u32(codec, &message->count);
        rsm_codec_u32(codec, &message->coalesced);
        break;
    default:
        break;
    }
}

size_t tcp_control_encode(struct tcp_control *message, uint8_t bytes[TCP_CONTROL_MAX])
{
    struct rsm_codec codec = rsm_encoder(bytes, TCP_CONTROL_MAX);
    walk(&codec, message);
    return codec.bad ? 0 : TCP_CONTROL_MAX - codec.left;
}

/* Whole pages' ends are checked by the mapping; here no sum overflows. */
static bool pieces_make_sense(const struct tcp_control *message)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < message->pieces; i++) {
        if (message->piece[i].length == 0 || message->piece[i].length > INT64_MAX - sum ||
            message->piece[i].offset > INT64_MAX - message->piece[i].length)
            return false;
        sum += message->piece[i].length;
    }
    return true;
}

static bool decode(struct rsm_codec *codec, struct tcp_control *message)
{
    memset(message, 0, sizeof *message);
    walk(codec, message);
    return !codec->bad && message->type > 0 && message->type < TCP_CONTROL_TYPES &&
           message->count <= RSM_SIGNALS_MAX &&
           (message->rights & ~(RSM_RIGHT_READ | RSM_RIGHT_WRITE)) == 0 &&
           pieces_make_sense(message);
}

bool tcp_control_decode(const uint8_t *bytes, size_t length, struct tcp_control *message)
{
    struct rsm_codec codec = rsm_decoder(bytes, length);
    return decode(&codec, message) && codec.left == 0;
}

/* ------------------------------------------------------------------ the socket */

_Static_assert(RSM_OFFER_MAX_FDS <= RSM_PACKET_FDS_MAX, "a grant is one packet");

int tcp_control_send(int socket, struct tcp_control *message, const struct rsm_packet_fds *fds)
{
    uint8_t bytes[TCP_CONTROL_MAX];
    size_t length = tcp_control_encode(message, bytes);
    return length != 0 ? -rsm_packet_send(socket, bytes, length, fds, 0) : EINVAL;
}

int tcp_control_receive(int socket, struct tcp_control *message, struct rsm_packet_fds *fds)
{
    uint8_t bytes[TCP_CONTROL_MAX] = {0};
    ssize_t length = rsm_packet_receive(socket, bytes, sizeof bytes, fds, NULL);
    struct rsm_codec whole = rsm_decoder(bytes, sizeof bytes);
    if (length == -EAGAIN)
        return 0;
    if ((length > 0 && tcp_control_decode(bytes, (size_t)length, message)) ||
        (length == -EMFILE && decode(&whole, message)))
        return 1;
    if (fds != NULL)
        rsm_packet_fds_close(fds);
    return -1;
}
