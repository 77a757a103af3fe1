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
    MAGIC = 0x51444d52,      /* "RMDQ" as bytes: of a queue with descriptors */
    HEAD_MAGIC = 0x48444d52, /* "RMDH": of one with queues */
    BATCH = 250,             /* the kernel passes 253 with one message */
    COUNT_MAX = 1 << 21,
    QUEUES_MAX = 4096,
};

int rsmd_queue_buffer = INT32_MAX / 2; /* the kernel takes what it allows */

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

static bool put(int socket, uint32_t magic, const int *fds, uint32_t total, uint32_t first)
{
    struct message message;
    size_t bytes = batch(total, first) * sizeof(int);
    prepare(&message, CMSG_SPACE(bytes));
    message.label = (struct label){magic, total, first};
    message.control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(bytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&message.control.header), fds + first, bytes);
    return sendmsg(socket, &message.header, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           (ssize_t)sizeof message.label;
}

/* Fill one socket with what comes from *first on, as much as it takes, and move *first. Its
 * descriptor, or -1 with errno: it took nothing, or something is wrong. */
static int fill_one(uint32_t magic, const int *fds, uint32_t count, uint32_t *first)
{
    /* Two ends that know each other: only the sender's buffer bounds what waits. */
    int ends[2];
    uint32_t before = *first;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &rsmd_queue_buffer, sizeof rsmd_queue_buffer);
    bool taken = true;
    while (*first < count && (taken = put(ends[0], magic, fds, count, *first)))
        *first += batch(count, *first);
    int error = errno;
    close(ends[0]);
    if (taken || (error == EAGAIN && *first > before))
        return rsmcore_fd_above_stdio(ends[1]);
    close(ends[1]);
    errno = error;
    return -1;
}

/* As many sockets as are needed; how many, or 0 with errno. */
static uint32_t fill_queues(const int *fds, uint32_t count, int *queues)
{
    uint32_t first = 0, used = 0;
    while (first < count && used < QUEUES_MAX) {
        queues[used] = fill_one(MAGIC, fds, count, &first);
        if (queues[used] < 0)
            break;
        used++;
    }
    if (first == count)
        return used;
    int error = used == QUEUES_MAX ? EAGAIN : errno;
    while (used > 0)
        close(queues[--used]);
    errno = error;
    return 0;
}

int rsmd_queue_fill(const int *fds, uint32_t count)
{
    int queues[QUEUES_MAX];
    uint32_t first = 0;
    errno = EINVAL;
    uint32_t used = count > 0 && count <= COUNT_MAX ? fill_queues(fds, count, queues) : 0;
    if (used == 0)
        return -1;
    if (used == 1)
        return queues[0];
    int head = fill_one(HEAD_MAGIC, queues, used, &first);
    int error = errno;
    if (head >= 0 && first < used) {
        close(head);
        head = -1;
        error = EAGAIN;
    }
    while (used > 0) /* the head has them */
        close(queues[--used]);
    errno = error;
    return head;
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
static bool take_message(int queue, uint32_t magic, int **fds, uint32_t *total, uint32_t first)
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
                label->magic == magic && label->first == first && label->total > first &&
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

/* What has been taken out so far. */
struct taken {
    int *fds;
    uint32_t total, count;
};

static void take_from(int queue, uint32_t magic, struct taken *taken)
{
    while ((taken->total == 0 || taken->count < taken->total) &&
           take_message(queue, magic, &taken->fds, &taken->total, taken->count))
        taken->count += batch(taken->total, taken->count);
}

static bool is_whole(const struct taken *taken)
{
    return taken->total > 0 && taken->count == taken->total;
}

static void close_taken(struct taken *taken)
{
    while (taken->count > 0)
        close(taken->fds[--taken->count]);
    free(taken->fds);
    taken->fds = NULL;
}

/* Whether it is a queue of queues. */
static bool is_head(int queue)
{
    struct label label;
    return recv(queue, &label, sizeof label, MSG_PEEK | MSG_DONTWAIT) == (ssize_t)sizeof label &&
           label.magic == HEAD_MAGIC;
}

uint32_t rsmd_queue_empty(int queue, int **fds)
{
    struct taken taken = {.fds = NULL}, queues = {.fds = NULL};
    if (!is_head(queue)) {
        take_from(queue, MAGIC, &taken);
    } else {
        take_from(queue, HEAD_MAGIC, &queues);
        for (uint32_t i = 0; is_whole(&queues) && i < queues.count; i++)
            take_from(queues.fds[i], MAGIC, &taken);
        close_taken(&queues);
    }
    if (!is_whole(&taken)) {
        close_taken(&taken);
        errno = EBADMSG;
    }
    *fds = taken.fds;
    return taken.count;
}
