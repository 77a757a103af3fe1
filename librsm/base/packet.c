/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/descriptor.h"
#include "base/packet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS /* Linux 6.16 */
#define SO_PASSRIGHTS 83
#endif

enum { SEND_ATTEMPTS = 4 };

/* Room for the descriptors and for the credentials of one packet. */
union packet_control {
    char bytes[CMSG_SPACE(sizeof(int) * RSM_PACKET_FDS_MAX) + CMSG_SPACE(sizeof(struct ucred))];
    struct cmsghdr align;
};

static void add_control(struct msghdr *header, int type, const void *data, size_t length)
{
    struct cmsghdr *message =
        (struct cmsghdr *)(void *)((char *)header->msg_control + header->msg_controllen);
    message->cmsg_level = SOL_SOCKET;
    message->cmsg_type = type;
    message->cmsg_len = CMSG_LEN(length);
    memcpy(CMSG_DATA(message), data, length);
    header->msg_controllen += CMSG_SPACE(length);
}

/* Most requests and replies have no second chance: what would be given back, for one, stays where
 * it is. The kernel's want of memory for a packet is a passing thing. */
static bool send_again(int error, int *attempts)
{
    return error == EINTR || ((error == ENOBUFS || error == ENOMEM) && ++*attempts < SEND_ATTEMPTS);
}

int rsm_packet_send(int socket, const void *bytes, size_t length, const struct rsm_packet_fds *fds,
                    int as_self)
{
    union packet_control control;
    memset(&control, 0, sizeof control);
    struct iovec data = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
    struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes};
    if (fds != NULL && fds->count > 0)
        add_control(&header, SCM_RIGHTS, fds->fds, sizeof(int) * fds->count);
    if (as_self) {
        struct ucred self = {.pid = getpid(), .uid = geteuid(), .gid = getegid()};
        add_control(&header, SCM_CREDENTIALS, &self, sizeof self);
    }
    if (header.msg_controllen == 0)
        header.msg_control = NULL;
    ssize_t sent;
    int attempts = 0;
    do
        sent = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && send_again(errno, &attempts));
    return sent < 0 ? -errno : 0;
}

void rsm_packet_fds_close(struct rsm_packet_fds *fds)
{
    for (unsigned i = 0; i < fds->count; i++)
        close(fds->fds[i]);
    fds->count = 0;
}

/* Take the control messages apart. Returns 0 or -EMFILE; every descriptor received is either in
 * *fds or closed. */
static int take_control(struct msghdr *header, struct rsm_packet_fds *fds,
                        struct rsm_packet_sender *sender)
{
    int result = 0;
    for (struct cmsghdr *m = CMSG_FIRSTHDR(header); m != NULL; m = CMSG_NXTHDR(header, m)) {
        if (m->cmsg_level != SOL_SOCKET)
            continue;
        if (m->cmsg_type == SCM_CREDENTIALS && sender != NULL) {
            struct ucred who;
            memcpy(&who, CMSG_DATA(m), sizeof who);
            *sender = (struct rsm_packet_sender){
                .known = true, .pid = who.pid, .uid = who.uid, .gid = who.gid};
        }
        if (m->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (m->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(m) + i * sizeof fd, sizeof fd);
            fd = rsmcore_fd_place(fd);
            if (fd < 0)
                result = -EMFILE;
            else if (fds->count == RSM_PACKET_FDS_MAX)
                close(fd);
            else
                fds->fds[fds->count++] = fd;
        }
    }
    return result;
}

static ssize_t receive(int socket, void *bytes, size_t capacity, struct rsm_packet_fds *fds,
                       struct rsm_packet_sender *sender, int flags)
{
    union packet_control control;
    struct rsm_packet_fds received = {.count = 0};
    struct iovec data = {.iov_base = bytes, .iov_len = capacity};
    struct msghdr header = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    if (sender != NULL)
        *sender = (struct rsm_packet_sender){.known = false};
    ssize_t length = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
    if (length < 0)
        return -errno;
    int failure = take_control(&header, &received, sender);
    if ((header.msg_flags & MSG_TRUNC) != 0)
        failure = -EMSGSIZE;
    else if ((header.msg_flags & MSG_CTRUNC) != 0)
        failure = -EMFILE; /* the kernel drops descriptors that the process has no room for */
    /* An empty packet ends the conversation like the end of file, which brings nothing either. */
    if (failure != 0 || fds == NULL || length == 0)
        rsm_packet_fds_close(&received);
    if (fds != NULL)
        *fds = received;
    return failure != 0 ? failure : length;
}

ssize_t rsm_packet_receive(int socket, void *bytes, size_t capacity, struct rsm_packet_fds *fds,
                           struct rsm_packet_sender *sender)
{
    ssize_t length;
    do
        length = receive(socket, bytes, capacity, fds, sender, MSG_DONTWAIT);
    while (length == -EINTR);
    return length;
}

ssize_t rsm_packet_await(int socket, void *bytes, size_t capacity, struct rsm_packet_fds *fds)
{
    ssize_t length = receive(socket, bytes, capacity, fds, NULL, 0);
    return length == -EINTR ? -EAGAIN : length;
}

bool rsm_packet_refuse_fds(int socket)
{
    int off = 0, before = 1;
    socklen_t size = sizeof before;
    if (getsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &before, &size) == 0 && before == 0)
        return true;
    setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off);
    return false;
}

ssize_t rsm_packet_peek(int socket, void *head, size_t size, bool *brings_fds)
{
    /* Room for the credentials, none for descriptors: the kernel says that it left some out, and
     * what it takes a reference to for a look is never the last one. */
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec data = {.iov_base = head, .iov_len = size};
    struct msghdr header = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    ssize_t length;
    do
        length = recvmsg(socket, &header, MSG_PEEK | MSG_DONTWAIT);
    while (length < 0 && errno == EINTR);
    *brings_fds = length >= 0 && (header.msg_flags & MSG_CTRUNC) != 0;
    return length < 0 ? -errno : length;
}

int rsm_packet_await_for(int socket, uint32_t max_ms)
{
    struct timeval timeout = {.tv_sec = max_ms / 1000,
                              .tv_usec = (suseconds_t)(max_ms % 1000) * 1000};
    int flags = fcntl(socket, F_GETFL);
    if (flags < 0 || fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) < 0)
        return -1;
    return setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
}

int rsm_unix_address(struct sockaddr_un *address, const char *path)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address->sun_path, path);
    return 0;
}

int rsm_packet_connect(const char *path)
{
    struct sockaddr_un address;
    if (rsm_unix_address(&address, path) < 0)
        return -1;
    int fd = rsmcore_fd_place(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}
