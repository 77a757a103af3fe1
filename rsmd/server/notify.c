/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/descriptor.h"

enum {
    FIRST_PASSED = 3, /* where passed descriptors begin */
    PASSED_MAX = 64,  /* how many to expect */
    MANAGER_TIMEOUT_MS = 5000,
    MESSAGE_MAX = 128,
};

/* @p passed: a descriptor to send along; -1: none. */
static bool notify(const char *state, int passed, int flags)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    if (path == NULL || (*path != '/' && *path != '@'))
        return false;
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path)
        return false;
    memcpy(address.sun_path, path, length);
    if (*path == '@')
        address.sun_path[0] = '\0'; /* the abstract namespace */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    /* Do not wait for a manager that hangs: clients would wait, too. */
    const struct timeval timeout = {.tv_sec = 1};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof passed)];
    } control = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)state, .iov_len = strlen(state)};
    struct msghdr message = {.msg_name = &address,
                             .msg_namelen =
                                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length),
                             .msg_iov = &part,
                             .msg_iovlen = 1};
    if (passed >= 0) {
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof passed), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &passed, sizeof passed);
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
    }
    bool sent = sendmsg(fd, &message, MSG_NOSIGNAL | flags) >= 0;
    close(fd);
    return sent;
}

void rsmd_notify(const char *state)
{
    (void)notify(state, -1, 0);
}

void rsmd_notify_in_passing(const char *state)
{
    (void)notify(state, -1, MSG_DONTWAIT);
}

/* ------------------------------------------------------------------ its descriptor store */

/* Wait until the manager has read what was sent before: it then closes the pipe's end that it gets.
 * It looks up the sender of a message, which must not have ended by then. */
static bool barrier(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    bool sent = notify("BARRIER=1", ends[1], 0);
    close(ends[1]);
    struct pollfd closed = {.fd = ends[0]};
    int ready = 0;
    if (sent)
        do
            ready = poll(&closed, 1, MANAGER_TIMEOUT_MS);
        while (ready < 0 && errno == EINTR);
    close(ends[0]);
    return ready == 1;
}

bool rsmd_store_put(const char *name, int fd)
{
    char text[MESSAGE_MAX];
    /* Without FDPOLL=0 the manager drops a socket whose other end is closed. */
    snprintf(text, sizeof text, "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
    return notify(text, fd, 0) && barrier();
}

void rsmd_store_remove(const char *name)
{
    char text[MESSAGE_MAX];
    snprintf(text, sizeof text, "FDSTOREREMOVE=1\nFDNAME=%s", name);
    rsmd_notify(text);
}

/* ------------------------------------------------------------------ what the manager passes */

/* How many descriptors it has passed to this process. */
static int passed_count(void)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != getpid())
        return 0;
    long passed = strtol(count, NULL, 10);
    return passed > 0 && passed <= PASSED_MAX ? (int)passed : 0;
}

/* Whether `names`, which are separated by colons, begin with that one. *names moves to the next. */
static bool next_is(const char **names, const char *name)
{
    size_t length = strcspn(*names, ":");
    bool is = strlen(name) == length && memcmp(*names, name, length) == 0;
    *names += length + ((*names)[length] == ':');
    return is;
}

int rsmd_passed_named(const char *name)
{
    const char *names = getenv("LISTEN_FDNAMES");
    char text[16];
    int found = -1, left = 0, count = names != NULL ? passed_count() : 0;
    for (int i = 0; i < count; i++) {
        int fd = FIRST_PASSED + i, place = FIRST_PASSED + left;
        if (next_is(&names, name)) {
            if (found >= 0) /* the latest counts */
                close(found);
            found = rsmcore_fd_copy_above_stdio(fd);
            close(fd);
        } else if (fd == place || dup2(fd, place) == place) {
            left++;
            if (fd != place)
                close(fd);
        }
    }
    if (found < 0)
        return -1;
    snprintf(text, sizeof text, "%d", left);
    setenv("LISTEN_FDS", text, 1);
    unsetenv("LISTEN_FDNAMES"); /* they would not fit any more */
    return found;
}

static int int_option(int fd, int option)
{
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

int rsmd_passed_socket(void)
{
    int passed = passed_count();
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
