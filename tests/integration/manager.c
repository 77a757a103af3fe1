/* SPDX-License-Identifier: BSD-3-Clause */
#include "manager.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

enum { WAIT_MS = 30000, TURN_MS = 10, NAME_BYTES = 64 };

struct manager {
    pthread_t thread;
    int socket;
    char path[64];
    bool keeps;
    atomic_bool ends, stalled, rests;
    pthread_mutex_t mutex; /* for what follows */
    bool is_slow;
    int barrier; /* not answered yet; -1: none */
    int kept;    /* -1: nothing */
    char name[NAME_BYTES];
};

static void keep(struct manager *manager, const char *name, int fd)
{
    if (manager->kept >= 0)
        close(manager->kept);
    snprintf(manager->name, sizeof manager->name, "%s", name);
    manager->kept = fd;
}

/* The value of a line "KEY=value", which is cut off there; NULL: there is none. */
static const char *value(char *text, const char *key)
{
    char *at = strstr(text, key);
    if (at == NULL)
        return NULL;
    at += strlen(key);
    at[strcspn(at, "\n")] = '\0';
    return at;
}

static void take_message(struct manager *manager, char *text, int fd)
{
    bool removes = strstr(text, "FDSTOREREMOVE=1") != NULL;
    bool stores = !removes && strstr(text, "FDSTORE=1") != NULL && strstr(text, "FDPOLL=0") != NULL;
    const char *name = value(text, "FDNAME=");
    pthread_mutex_lock(&manager->mutex);
    if (removes && name != NULL && strcmp(name, manager->name) == 0) {
        keep(manager, "", -1);
    } else if (stores && name != NULL && manager->keeps) {
        keep(manager, name, fd);
        fd = -1;
    }
    if (fd >= 0 && manager->is_slow && manager->barrier < 0) {
        manager->barrier = fd;
        fd = -1;
    }
    pthread_mutex_unlock(&manager->mutex);
    if (fd >= 0)
        close(fd); /* the answer to a barrier is that, too */
}

static void read_message(struct manager *manager)
{
    char text[512];
    int fd = -1;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof fd)];
    } control;
    struct iovec part = {.iov_base = text, .iov_len = sizeof text - 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t length = recvmsg(manager->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0)
        return;
    text[length] = '\0';
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
    take_message(manager, text, fd);
}

static void *serve(void *argument)
{
    struct manager *manager = argument;
    struct pollfd mail = {.fd = manager->socket, .events = POLLIN};
    while (!atomic_load(&manager->ends)) {
        bool rests = atomic_load(&manager->stalled);
        atomic_store(&manager->rests, rests);
        if (poll(&mail, rests ? 0 : 1, TURN_MS) == 1)
            read_message(manager);
    }
    return NULL;
}

struct manager *manager_start(bool keeps)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct manager *manager = calloc(1, sizeof *manager);
    assert_non_null(manager);
    manager->keeps = keeps;
    manager->kept = manager->barrier = -1;
    pthread_mutex_init(&manager->mutex, NULL);
    snprintf(manager->path, sizeof manager->path, "/tmp/rsm-manager.%d", (int)getpid());
    strcpy(address.sun_path, manager->path);
    unlink(manager->path);
    manager->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(manager->socket >= 0);
    assert_int_equal(bind(manager->socket, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", manager->path, 1), 0);
    assert_int_equal(pthread_create(&manager->thread, NULL, serve, manager), 0);
    return manager;
}

void manager_drop(struct manager *manager)
{
    pthread_mutex_lock(&manager->mutex);
    keep(manager, "", -1);
    pthread_mutex_unlock(&manager->mutex);
}

bool manager_has_kept(const struct manager *manager)
{
    pthread_mutex_t *mutex = (pthread_mutex_t *)(uintptr_t)&manager->mutex;
    pthread_mutex_lock(mutex);
    bool has = manager->kept >= 0;
    pthread_mutex_unlock(mutex);
    return has;
}

void manager_end(struct manager *manager)
{
    atomic_store(&manager->ends, true);
    pthread_join(manager->thread, NULL);
    manager_drop(manager);
    unsetenv("NOTIFY_SOCKET");
    if (manager->barrier >= 0)
        close(manager->barrier);
    close(manager->socket);
    unlink(manager->path);
    pthread_mutex_destroy(&manager->mutex);
    free(manager);
}

static void turn(void)
{
    const struct timespec pause = {.tv_nsec = TURN_MS * 1000000L};
    nanosleep(&pause, NULL);
}

void manager_stall(struct manager *manager, bool stalled)
{
    atomic_store(&manager->stalled, stalled);
    for (int i = 0; atomic_load(&manager->rests) != stalled && i < WAIT_MS / TURN_MS; i++)
        turn();
    assert_int_equal(atomic_load(&manager->rests), stalled);
}

void manager_be_slow(struct manager *manager)
{
    pthread_mutex_lock(&manager->mutex);
    manager->is_slow = true;
    pthread_mutex_unlock(&manager->mutex);
}

void manager_await_kept(const struct manager *manager)
{
    for (int i = 0; !manager_has_kept(manager) && i < WAIT_MS / TURN_MS; i++)
        turn();
    assert_true(manager_has_kept(manager));
}

pid_t manager_start_daemon(struct manager *manager, struct world *world, unsigned node)
{
    pthread_mutex_lock(&manager->mutex);
    pid_t daemon =
        world_daemon_start_passed(world, node, "--keep-state", manager->kept, manager->name);
    pthread_mutex_unlock(&manager->mutex);
    return daemon;
}
