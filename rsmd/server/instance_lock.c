/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/descriptor.h"
#include "server/instance_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/packet.h"

/* Whether the path still leads to the locked file. Its last holder may have removed it between open
 * and lock, and then a third process locks another file of that name. */
static bool is_at_path(int fd, const char *path)
{
    struct stat locked, named;
    return fstat(fd, &locked) == 0 && stat(path, &named) == 0 && locked.st_ino == named.st_ino &&
           locked.st_dev == named.st_dev;
}

static enum rsmd_lock_result take_lock(const char *path, int *lock)
{
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return RSMD_LOCK_FAILED;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
            int error = errno;
            close(fd);
            errno = error;
            return error == EWOULDBLOCK ? RSMD_LOCK_BUSY : RSMD_LOCK_FAILED;
        }
        if (is_at_path(fd, path)) {
            *lock = fd;
            return RSMD_LOCK_TAKEN;
        }
        close(fd);
    }
}

static void let_go(struct rsmd_instance *instance)
{
    int error = errno;
    close(instance->lock);
    instance->lock = -1;
    errno = error;
}

/* Make the lock file that of a configured daemon. */
static bool reserve(int lock)
{
    static const char mark[] = RSMCORE_CONFIGURED;
    ssize_t written = pwrite(lock, mark, sizeof mark - 1, 0);
    if (written >= 0 && written < (ssize_t)sizeof mark - 1)
        errno = ENOSPC;
    return written == (ssize_t)sizeof mark - 1;
}

/* The lock is held: check whether the node is for a configured daemon. */
static enum rsmd_lock_result look_for_mark(struct rsmd_instance *instance, bool configured)
{
    struct stat file;
    enum rsmd_lock_result result = RSMD_LOCK_TAKEN;
    bool known = fstat(instance->lock, &file) == 0;
    if (known && !configured && file.st_size > 0)
        result = RSMD_LOCK_RESERVED;
    else if (!known || (configured && file.st_size == 0 && !reserve(instance->lock)))
        result = RSMD_LOCK_FAILED;
    if (result != RSMD_LOCK_TAKEN)
        let_go(instance);
    return result;
}

/* The lock lasts while any descriptor of it is open. */
static bool take_over(const char *path, int lock)
{
    return is_at_path(lock, path) && flock(lock, LOCK_EX | LOCK_NB) == 0;
}

enum rsmd_lock_result rsmd_instance_lock(struct rsmd_instance *instance,
                                         const struct rsmcore_runtime *runtime,
                                         const char *socket_path, bool configured, int lock)
{
    memset(instance, 0, sizeof *instance);
    instance->lock = -1;
    instance->configured = configured;
    rsmcore_runtime_lock(runtime, runtime->node, instance->lock_path);
    rsmcore_runtime_socket(runtime, runtime->node, instance->socket_path);
    if (socket_path != NULL)
        snprintf(instance->socket_path, sizeof instance->socket_path, "%s", socket_path);
    enum rsmd_lock_result result = RSMD_LOCK_TAKEN;
    if (lock >= 0 && take_over(instance->lock_path, lock)) {
        instance->lock = lock;
    } else {
        if (lock >= 0)
            close(lock);
        result = take_lock(instance->lock_path, &instance->lock);
    }
    return result == RSMD_LOCK_TAKEN ? look_for_mark(instance, configured) : result;
}

/* The temporary name of the socket, until it listens and replaces a predecessor's, so that the node
 * always has one. NULL: the name would be too long. */
static const char *first_name(const struct rsmd_instance *instance, struct sockaddr_un *address)
{
    char name[RSM_PROTO_PATH_MAX + 1];
    snprintf(name, sizeof name, "%s~", instance->socket_path);
    return rsm_unix_address(address, name) == 0 ? address->sun_path : NULL;
}

/* Bind, with a name of either kind, and listen. */
static bool bind_and_listen(int fd, const struct sockaddr_un *address, bool everybody)
{
    unlink(address->sun_path);
    mode_t before = umask(everybody ? 0111 : 0177);
    int result = bind(fd, (const struct sockaddr *)address, sizeof *address);
    umask(before);
    return result == 0 && listen(fd, RSMD_BACKLOG) == 0;
}

int rsmd_instance_listen(struct rsmd_instance *instance, bool everybody)
{
    struct sockaddr_un address;
    const char *first = first_name(instance, &address);
    if (first == NULL && rsm_unix_address(&address, instance->socket_path) < 0)
        return -1;
    int fd =
        rsmcore_fd_above_stdio(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return -1;
    if (bind_and_listen(fd, &address, everybody) &&
        (first == NULL || rename(first, instance->socket_path) == 0)) {
        instance->socket_is_ours = true;
        return fd;
    }
    int error = errno;
    unlink(address.sun_path);
    close(fd);
    errno = error;
    return -1;
}

bool rsmd_instance_relisten(struct rsmd_instance *instance, int listener)
{
    struct sockaddr_un address = {.sun_family = AF_UNSPEC}, first = {.sun_path = ""};
    socklen_t size = sizeof address;
    char path[sizeof address.sun_path + 1] = "";
    if (getsockname(listener, (struct sockaddr *)&address, &size) < 0 ||
        address.sun_family != AF_UNIX)
        return false;
    memcpy(path, address.sun_path, sizeof address.sun_path);
    (void)first_name(instance, &first);
    /* listen() again makes this process the peer that clients see. */
    if ((strcmp(path, instance->socket_path) != 0 && strcmp(path, first.sun_path) != 0) ||
        listen(listener, RSMD_BACKLOG) < 0)
        return false;
    instance->socket_is_ours = true;
    return true;
}

/* ------------------------------------------------------------------ a socket from elsewhere */

/* A socket with a path, and the directory of symbolic links to it. */
struct passed {
    const struct rsmcore_runtime *runtime;
    char path[sizeof((struct sockaddr_un *)NULL)->sun_path + 1];
};

static bool leads_to(const char *link, const char *path)
{
    char target[RSM_PROTO_PATH_MAX];
    ssize_t length = readlink(link, target, sizeof target);
    return length > 0 && (size_t)length < sizeof target && strlen(path) == (size_t)length &&
           memcmp(target, path, (size_t)length) == 0;
}

/* The node of a symbolic link is not this host's any more: remove its mark, so that no library
 * waits for its daemon. */
static void forget_former(void *context, uint32_t node)
{
    const struct passed *passed = context;
    char path[RSM_PROTO_PATH_MAX];
    int lock;
    rsmcore_runtime_socket(passed->runtime, node, path);
    if (node == passed->runtime->node || !leads_to(path, passed->path))
        return;
    unlink(path);
    rsmcore_runtime_lock(passed->runtime, node, path);
    if (take_lock(path, &lock) != RSMD_LOCK_TAKEN)
        return;
    unlink(path); /* before the release: see is_at_path() */
    close(lock);
}

/* Replace @p at by a symbolic link, atomically. */
static bool replace_by_link(const char *at, const char *target)
{
    char temporary[RSM_PROTO_PATH_MAX + 8];
    snprintf(temporary, sizeof temporary, "%s.new", at);
    unlink(temporary);
    if (symlink(target, temporary) < 0)
        return false;
    if (rename(temporary, at) == 0)
        return true;
    int error = errno;
    unlink(temporary);
    errno = error;
    return false;
}

bool rsmd_instance_adopt(struct rsmd_instance *instance, const struct rsmcore_runtime *runtime,
                         int listener)
{
    struct sockaddr_un address = {.sun_family = AF_UNSPEC};
    struct passed passed = {.runtime = runtime};
    socklen_t size = sizeof address;
    if (getsockname(listener, (struct sockaddr *)&address, &size) < 0)
        return false;
    memcpy(passed.path, address.sun_path, sizeof address.sun_path);
    errno = EINVAL;
    if (address.sun_family != AF_UNIX || passed.path[0] != '/')
        return false;
    if (strcmp(passed.path, instance->socket_path) == 0)
        return true;
    if (!replace_by_link(instance->socket_path, passed.path))
        return false;
    rsmcore_runtime_each(runtime, "sock", forget_former, &passed);
    return true;
}

void rsmd_instance_unlink(struct rsmd_instance *instance)
{
    if (instance->socket_is_ours)
        unlink(instance->socket_path);
    instance->socket_is_ours = false;
}

void rsmd_instance_unlock(struct rsmd_instance *instance)
{
    if (instance->lock < 0)
        return;
    rsmd_instance_unlink(instance);
    if (!instance->configured)
        unlink(instance->lock_path); /* before the release: see is_at_path() */
    let_go(instance);
}

static void report(int fd, const char *text, size_t length)
{
    if (fd < 0)
        return;
    /* A failure means that the starter has given up. */
    ssize_t ignored = write(fd, text, length);
    (void)ignored;
    close(fd);
}

void rsmd_start_ready(int fd)
{
    report(fd, "R", 1);
}

void rsmd_start_not_needed(int fd)
{
    report(fd, "B", 1);
}

void rsmd_start_failed(int fd, const char *why)
{
    char line[1024];
    int length = snprintf(line, sizeof line - 1, "%s", why);
    size_t used = length < (int)sizeof line - 1 ? (size_t)length : sizeof line - 2;
    line[used] = '\n';
    report(fd, line, used + 1);
}
