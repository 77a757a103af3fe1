/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/tcp/common/control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/codec.h"

enum { FDS_BYTES = CMSG_SPACE(sizeof(int) * RSM_OFFER_MAX_FDS) };

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

bool tcp_control_decode(const uint8_t *bytes, size_t length, struct tcp_control *message)
{
    struct rsm_codec codec = rsm_decoder(bytes, length);
    memset(message, 0, sizeof *message);
    walk(&codec, message);
    return !codec.bad && codec.left == 0 && message->type > 0 &&
           message->type < TCP_CONTROL_TYPES && message->count <= RSM_SIGNALS_MAX &&
           (message->rights & ~(RSM_RIGHT_READ | RSM_RIGHT_WRITE)) == 0 &&
           pieces_make_sense(message);
}

/* ------------------------------------------------------------------ the socket */

int tcp_control_send(int socket, struct tcp_control *message, const int *fds, unsigned count)
{
    uint8_t bytes[TCP_CONTROL_MAX];
    union {
        struct cmsghdr head;
        char room[FDS_BYTES];
    } control;
    struct iovec part = {bytes, tcp_control_encode(message, bytes)};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
    if (part.iov_len == 0 || count > RSM_OFFER_MAX_FDS)
        return EINVAL;
    if (count > 0) {
        memset(&control, 0, sizeof control);
        packet.msg_control = &control;
        packet.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * count);
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &packet, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent >= 0 ? 0 : errno;
}

static unsigned take_descriptors(struct msghdr *packet, int *fds)
{
    const struct cmsghdr *head = CMSG_FIRSTHDR(packet);
    if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
        return 0;
    size_t bytes = head->cmsg_len - CMSG_LEN(0);
    memcpy(fds, CMSG_DATA(head), bytes);
    return (unsigned)(bytes / sizeof(int));
}

int tcp_control_receive(int socket, struct tcp_control *message, int fds[RSM_OFFER_MAX_FDS],
                        unsigned *count)
{
    uint8_t bytes[TCP_CONTROL_MAX];
    union {
        struct cmsghdr head;
        char room[FDS_BYTES];
    } control;
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr packet = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = &control,
                            .msg_controllen = sizeof control};
    ssize_t got;
    *count = 0;
    do
        got = recvmsg(socket, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno == EAGAIN ? 0 : -1;
    *count = take_descriptors(&packet, fds);
    bool well = got > 0 && (packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
                tcp_control_decode(bytes, (size_t)got, message);
    for (unsigned i = 0; i < *count && !well; i++)
        close(fds[i]);
    if (!well)
        *count = 0;
    return well ? 1 : -1;
}
