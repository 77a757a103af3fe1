/* SPDX-License-Identifier: BSD-3-Clause */
#include "handover/internal.h"

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

/* The content of each message: it carries some of `total` descriptors, from `first` on. */
struct label {
    uint32_t magic, total, first;
};

/* What is to be put. */
struct list {
    const int *fds;
    uint32_t count, needed;
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

/* ------------------------------------------------------------------ in */

static bool put(int socket, uint32_t magic, const int *fds, struct label label, uint32_t count)
{
    struct message message;
    size_t bytes = count * sizeof(int);
    prepare(&message, CMSG_SPACE(bytes));
    label.magic = magic;
    message.label = label;
    message.control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(bytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&message.control.header), fds + label.first, bytes);
    return sendmsg(socket, &message.header, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof label;
}

/* Whether the kernel has refused the descriptor itself: queues nested too deeply, not a descriptor,
 * or too many in flight. */
static bool is_refusal(int error)
{
    return error == ETOOMANYREFS || error == EBADF;
}

/* Put all from *first on, in batches, and advance *first. Refused ones are left out, except the
 * first `needed`. False, with errno: the next one cannot be put here. */
static bool put_all(int socket, uint32_t magic, const struct list *list, uint32_t *first)
{
    uint32_t step = BATCH;
    while (*first < list->count) {
        uint32_t rest = list->count - *first, count = rest < step ? rest : step;
        if (put(socket, magic, list->fds, (struct label){.total = list->count, .first = *first},
                count)) {
            *first += count;
            step = 2 * count < BATCH ? 2 * count : BATCH;
        } else if (!is_refusal(errno) || (count == 1 && *first < list->needed)) {
            return false;
        } else if (count == 1) {
            (*first)++;
        } else {
            step = count / 2;
        }
    }
    return true;
}

/* Fill one socket from *first on, as much as it takes, and advance *first. Returns its descriptor,
 * or -1 with errno: it took nothing, or an error. */
static int fill_one(uint32_t magic, const struct list *list, uint32_t *first)
{
    /* A connected pair: only the sender's buffer bounds the queue. */
    int ends[2];
    uint32_t before = *first;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &rsmd_queue_buffer, sizeof rsmd_queue_buffer);
    bool taken = put_all(ends[0], magic, list, first);
    int error = errno;
    close(ends[0]);
    if (taken || (error == EAGAIN && *first > before))
        return rsmcore_fd_above_stdio(ends[1]);
    close(ends[1]);
    errno = error;
    return -1;
}

/* As many sockets as are needed; how many, or 0 with errno. */
static uint32_t fill_queues(const struct list *list, int *queues)
{
    uint32_t first = 0, used = 0;
    while (first < list->count && used < QUEUES_MAX) {
        queues[used] = fill_one(MAGIC, list, &first);
        if (queues[used] < 0)
            break;
        used++;
    }
    if (first == list->count)
        return used;
    int error = used == QUEUES_MAX ? EAGAIN : errno;
    while (used > 0)
        close(queues[--used]);
    errno = error;
    return 0;
}

/* Put as many as a message takes into a socket that is closed when the queues are full: if the
 * kernel takes no more by then, it still takes the queues themselves. -1: it takes not even
 * these. */
static int keep_room(int fd)
{
    int fds[BATCH];
    uint32_t first = 0;
    for (size_t i = 0; i < BATCH; i++)
        fds[i] = fd;
    return fill_one(MAGIC, &(struct list){fds, BATCH, BATCH}, &first);
}

/* Join the queues in one, which owns them then. -1, with errno. */
static int join(int *queues, uint32_t used)
{
    uint32_t first = 0;
    int head = fill_one(HEAD_MAGIC, &(struct list){queues, used, used}, &first);
    int error = errno;
    if (head >= 0 && first < used) {
        close(head);
        head = -1;
        error = EAGAIN;
    }
    while (used > 0) /* the head holds them */
        close(queues[--used]);
    errno = error;
    return head;
}

int rsmd_queue_fill(const int *fds, uint32_t count, uint32_t needed)
{
    int queues[QUEUES_MAX];
    if (count == 0 || count > COUNT_MAX) {
        errno = EINVAL;
        return -1;
    }
    int room = keep_room(fds[0]);
    uint32_t used = fill_queues(&(struct list){fds, count, needed}, queues);
    int error = errno;
    if (room >= 0)
        close(room);
    errno = error;
    if (used <= 1)
        return used == 1 ? queues[0] : -1;
    return join(queues, used);
}

/* ------------------------------------------------------------------ out */

/* Take the descriptors of a received message. Returns their number. */
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

/* What has been taken so far: all up to `at`; -1 for missing ones. */
struct taken {
    int *fds;
    uint32_t total, at;
};

/* Make the list at the first message. False: no memory, or a message of another queue. */
static bool need_list(struct taken *taken, uint32_t total)
{
    if (taken->fds != NULL)
        return taken->total == total;
    taken->fds = malloc(total * sizeof *taken->fds);
    if (taken->fds == NULL)
        return false;
    taken->total = total;
    for (uint32_t i = 0; i < total; i++)
        taken->fds[i] = -1;
    return true;
}

/* Whether a message is of such a queue, and follows those that were taken. It may bring fewer
 * descriptors than were put, if this process reaches its limit. */
static bool is_next(const struct taken *taken, const struct label *label, uint32_t magic,
                    uint32_t count)
{
    return label->magic == magic && label->total <= COUNT_MAX && label->first < label->total &&
           label->first >= taken->at && count <= label->total - label->first;
}

/* Take the next message. False: there is none, or it is not of such a queue. */
static bool take_message(int queue, uint32_t magic, struct taken *taken)
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
    if (length == (ssize_t)sizeof *label && (message.header.msg_flags & MSG_TRUNC) == 0 &&
        is_next(taken, label, magic, count) && need_list(taken, label->total)) {
        memcpy(taken->fds + label->first, came, count * sizeof came[0]);
        taken->at = label->first + count;
        return true;
    }
    for (uint32_t i = 0; i < count; i++)
        if (came[i] >= 0)
            close(came[i]);
    return false;
}

static void take_from(int queue, uint32_t magic, struct taken *taken)
{
    while (take_message(queue, magic, taken))
        continue;
}

static void close_taken(struct taken *taken)
{
    for (uint32_t i = 0; i < taken->total; i++)
        if (taken->fds[i] >= 0)
            close(taken->fds[i]);
    free(taken->fds);
    *taken = (struct taken){.fds = NULL};
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
        for (uint32_t i = 0; i < queues.total; i++)
            if (queues.fds[i] >= 0)
                take_from(queues.fds[i], MAGIC, &taken);
        close_taken(&queues);
    }
    if (taken.total > 0 && taken.fds[0] < 0)
        close_taken(&taken);
    if (taken.total == 0)
        errno = EBADMSG;
    *fds = taken.fds;
    return taken.total;
}
