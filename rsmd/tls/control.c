/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/codec.h"

enum { FDS_BYTES = CMSG_SPACE(sizeof(int) * RSMD_TLS_FDS_MAX) };

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

bool rsmd_tls_control_decode(const uint8_t *bytes, size_t length, struct rsmd_tls_control *message)
{
    struct rsm_codec codec = rsm_decoder(bytes, length);
    memset(message, 0, sizeof *message);
    walk(&codec, message);
    return !codec.bad && codec.left == 0 && message->type > 0 && message->type < RSMD_TLS_TYPES &&
           message->caller <= 1;
}

/* ------------------------------------------------------------------ the socket */

int rsmd_tls_control_send(int socket, struct rsmd_tls_control *message, const int *fds,
                          unsigned count, bool waits)
{
    uint8_t bytes[RSMD_TLS_CONTROL_MAX];
    union {
        struct cmsghdr head;
        char room[FDS_BYTES];
    } control;
    struct iovec part = {bytes, rsmd_tls_control_encode(message, bytes)};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
    if (part.iov_len == 0 || count > RSMD_TLS_FDS_MAX)
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
        sent = sendmsg(socket, &packet, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
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

int rsmd_tls_control_receive(int socket, struct rsmd_tls_control *message,
                             int fds[RSMD_TLS_FDS_MAX], unsigned *count)
{
    uint8_t bytes[RSMD_TLS_CONTROL_MAX];
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
    bool well = got > 0 && (packet.msg_flags & MSG_TRUNC) == 0 &&
                rsmd_tls_control_decode(bytes, (size_t)got, message);
    bool all = well && (packet.msg_flags & MSG_CTRUNC) == 0;
    for (unsigned i = 0; i < *count && !all; i++)
        close(fds[i]);
    if (!all)
        *count = 0;
    return well ? 1 : -1;
}
