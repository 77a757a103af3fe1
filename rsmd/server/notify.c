/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/notify.h"

#include <fcntl.h>
#include <stdlib.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_PASSED 3 /* where passed descriptors begin */

static void notify(const char *state, int flags)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    if (path == NULL || (*path != '/' && *path != '@'))
        return;
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, length);
    if (*path == '@')
        address.sun_path[0] = '\0'; /* the abstract namespace */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    /* A manager that hangs is not waited for: by then clients are. */
    const struct timeval timeout = {.tv_sec = 1};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    sendto(fd, state, strlen(state), MSG_NOSIGNAL | flags, (const struct sockaddr *)&address, size);
    close(fd);
}

void rsmd_notify(const char *state)
{
    notify(state, 0);
}

void rsmd_notify_in_passing(const char *state)
{
    notify(state, MSG_DONTWAIT);
}

static int int_option(int fd, int option)
{
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

int rsmd_passed_socket(void)
{
    const char *pid = getenv("LISTEN_PID");
    const char *count = getenv("LISTEN_FDS");
    if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != getpid())
        return -1;
    long passed = strtol(count, NULL, 10);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (passed == 0)
        return -1;
    int fd = FIRST_PASSED;
    if (passed != 1 || int_option(fd, SO_DOMAIN) != AF_UNIX ||
        int_option(fd, SO_TYPE) != SOCK_SEQPACKET || int_option(fd, SO_ACCEPTCONN) != 1)
        return -2;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return -2;
    return fd;
}
