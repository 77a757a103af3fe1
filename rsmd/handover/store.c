/* SPDX-License-Identifier: BSD-3-Clause */
#include "handover/store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { MANAGER_TIMEOUT_S = 5, MESSAGE_MAX = 128 };

bool rsmd_store_is_there(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    return path != NULL && (*path == '/' || *path == '@');
}

int rsmd_store_connect(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval timeout = {.tv_sec = MANAGER_TIMEOUT_S};
    const char *path = getenv("NOTIFY_SOCKET");
    errno = EINVAL;
    if (!rsmd_store_is_there() || strlen(path) >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path, path, strlen(path));
    if (*path == '@')
        address.sun_path[0] = '\0'; /* the abstract namespace */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) == 0 &&
        connect(fd, (const struct sockaddr *)&address, size) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* @p fd -1: none. */
static bool tell(int manager, const char *text, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
    }
    ssize_t sent;
    do
        sent = sendmsg(manager, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent >= 0;
}

bool rsmd_store_put(int manager, const char *name, int fd)
{
    char text[MESSAGE_MAX];
    /* Without FDPOLL=0 the manager drops the socket of a client that dies meanwhile. */
    snprintf(text, sizeof text, "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
    return tell(manager, text, fd);
}

bool rsmd_store_remove(int manager, const char *name)
{
    char text[MESSAGE_MAX];
    snprintf(text, sizeof text, "FDSTOREREMOVE=1\nFDNAME=%s", name);
    return tell(manager, text, -1);
}

bool rsmd_store_barrier(int manager)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    bool told = tell(manager, "BARRIER=1", ends[1]);
    close(ends[1]);
    struct pollfd closed = {.fd = ends[0]};
    bool read_all = told && poll(&closed, 1, MANAGER_TIMEOUT_S * 1000) == 1;
    close(ends[0]);
    return read_all;
}
