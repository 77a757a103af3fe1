/* SPDX-License-Identifier: BSD-3-Clause */
#include "handover/queue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptor.h"

enum {
    MAGIC = 0x51444d52, /* "RMDQ" as bytes */
    BATCH = 250,        /* the kernel passes 253 with one message */
    COUNT_MAX = 1 << 21,
};

/* Of each message: it brings the descriptors from `first` on, as many of `total` as fit. */
struct label {
    uint32_t magic, total, first;
};

/* One message, with room for its descriptors. */
struct message {
    struct msghdr header;
    struct iovec part;
    struct label label;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(BATCH * sizeof(int))];
    } control;
};

static void prepare(struct message *message, size_t control)
{
    memset(message, 0, sizeof *message);
    message->part.iov_base = &message->label;
    message->part.iov_len = sizeof message->label;
    message->header.msg_iov = &message->part;
    message->header.msg_iovlen = 1;
    message->header.msg_control = message->control.bytes;
    message->header.msg_controllen = control;
}

static uint32_t batch(uint32_t total, uint32_t first)
{
    return total - first < BATCH ? total - first : BATCH;
}

/* ------------------------------------------------------------------ in */

static bool put(int socket, const int *fds, uint32_t total, uint32_t first)
{
    struct message message;
    size_t bytes = batch(total, first) * sizeof(int);
    prepare(&message, CMSG_SPACE(bytes));
    message.label = (struct label){MAGIC, total, first};
    message.control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(bytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&message.control.header), fds + first, bytes);
    return sendmsg(socket, &message.header, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           (ssize_t)sizeof message.label;
}

int rsmd_queue_fill(const int *fds, uint32_t count)
{
    /* Two ends that know each other: only the sender's buffer bounds what waits. */
    int ends[2];
    int most = INT32_MAX / 2; /* the kernel takes what it allows */
    errno = EINVAL;
    if (count == 0 || count > COUNT_MAX ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
    bool all = true;
    for (uint32_t first = 0; all && first < count; first += BATCH)
        all = put(ends[0], fds, count, first);
    int error = errno;
    close(ends[0]);
    if (!all) {
        close(ends[1]);
        errno = error;
        return -1;
    }
    return rsmcore_fd_above_stdio(ends[1]);
}

/* ------------------------------------------------------------------ out */

/* The descriptors that came, which are ours now; how many. */
static uint32_t take_out(struct message *message, int fds[BATCH])
{
    uint32_t taken = 0;
    struct cmsghdr *control = CMSG_FIRSTHDR(&message->header);
    for (; control != NULL; control = CMSG_NXTHDR(&message->header, control)) {
        if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count && taken < BATCH; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
            fds[taken++] = rsmcore_fd_above_stdio(fd);
        }
    }
    return taken;
}

/* Take the message that has the descriptors from `first` on. *total is 0 before the first one. */
static bool take_message(int queue, int **fds, uint32_t *total, uint32_t first)
{
    struct message message;
    int came[BATCH];
    prepare(&message, sizeof message.control);
    ssize_t length;
    do
        length = recvmsg(queue, &message.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (length < 0 && errno == EINTR);
    uint32_t count = length >= 0 ? take_out(&message, came) : 0;
    const struct label *label = &message.label;
    bool good = length == (ssize_t)sizeof *label &&
                (message.header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
                label->magic == MAGIC && label->first == first && label->total > first &&
                label->total <= COUNT_MAX && (*total == 0 || *total == label->total) &&
                count == batch(label->total, first);
    for (uint32_t i = 0; good && i < count; i++)
        good = came[i] >= 0;
    if (good && *total == 0)
        *fds = malloc(label->total * sizeof **fds);
    if (good && *fds != NULL) {
        *total = label->total;
        memcpy(*fds + first, came, count * sizeof came[0]);
        return true;
    }
    for (uint32_t i = 0; i < count; i++)
        if (came[i] >= 0)
            close(came[i]);
    return false;
}

uint32_t rsmd_queue_empty(int queue, int **fds)
{
    uint32_t total = 0, taken = 0;
    *fds = NULL;
    while ((total == 0 || taken < total) && take_message(queue, fds, &total, taken))
        taken += batch(total, taken);
    if (total > 0 && taken == total)
        return total;
    for (uint32_t i = 0; i < taken; i++)
        close((*fds)[i]);
    free(*fds);
    *fds = NULL;
    errno = EBADMSG;
    return 0;
}
