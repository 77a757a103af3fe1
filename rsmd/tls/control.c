/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/control.h"

#include <errno.h>
#include <string.h>

#include "base/codec.h"

/* ------------------------------------------------------------------ the codec */

static void walk(struct rsm_codec *codec, struct rsmd_tls_control *message)
{
    rsm_codec_u32(codec, &message->type);
    rsm_codec_u64(codec, &message->id);
    rsm_codec_u32(codec, &message->caller);
    rsm_codec_u32(codec, &message->node);
    rsm_codec_u64(codec, &message->expires);
    rsm_codec_string(codec, message->text, sizeof message->text);
}

size_t rsmd_tls_control_encode(struct rsmd_tls_control *message,
                               uint8_t bytes[RSMD_TLS_CONTROL_MAX])
{
    struct rsm_codec codec = rsm_encoder(bytes, RSMD_TLS_CONTROL_MAX);
    walk(&codec, message);
    return codec.bad ? 0 : RSMD_TLS_CONTROL_MAX - codec.left;
}

static bool decode(struct rsm_codec *codec, struct rsmd_tls_control *message)
{
    memset(message, 0, sizeof *message);
    walk(codec, message);
    return !codec->bad && message->type > 0 && message->type < RSMD_TLS_TYPES &&
           message->caller <= 1;
}

bool rsmd_tls_control_decode(const uint8_t *bytes, size_t length, struct rsmd_tls_control *message)
{
    struct rsm_codec codec = rsm_decoder(bytes, length);
    return decode(&codec, message) && codec.left == 0;
}

/* ------------------------------------------------------------------ the socket */

int rsmd_tls_control_send(int socket, struct rsmd_tls_control *message,
                          const struct rsm_packet_fds *fds)
{
    uint8_t bytes[RSMD_TLS_CONTROL_MAX];
    size_t length = rsmd_tls_control_encode(message, bytes);
    return length != 0 ? -rsm_packet_send(socket, bytes, length, fds, 0) : EINVAL;
}

int rsmd_tls_control_receive(int socket, struct rsmd_tls_control *message,
                             struct rsm_packet_fds *fds)
{
    uint8_t bytes[RSMD_TLS_CONTROL_MAX] = {0};
    ssize_t length = rsm_packet_receive(socket, bytes, sizeof bytes, fds, NULL);
    struct rsm_codec whole = rsm_decoder(bytes, sizeof bytes);
    if (length == -EAGAIN)
        return 0;
    if ((length > 0 && rsmd_tls_control_decode(bytes, (size_t)length, message)) ||
        (length == -EMFILE && decode(&whole, message)))
        return 1;
    if (fds != NULL)
        rsm_packet_fds_close(fds);
    return -1;
}
