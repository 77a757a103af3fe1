/* SPDX-License-Identifier: BSD-3-Clause */
#include "manager.h"

#include <sys/prctl.h>

#include "harness.h"
#include "process.h"

/*
 * A process of its own, as a service manager is: the test forks its actors while this works, and a
 * child of a process with threads may not start any under ThreadSanitizer.
 */

enum { WAIT_MS = 30000, TURN_MS = 10, NAME_BYTES = 64 };

/* What the test asks for; each is answered. */
enum request { LOOK, TAKE, DROP, STALL, GO_ON, BE_SLOW, END };

struct answer {
    bool has_kept;
    char name[NAME_BYTES];
};

struct manager {
    pid_t pid;
    int control;
    char path[64];
};

/* What the process knows. */
struct store {
    int socket, control;
    bool keeps, is_stalled, is_slow;
    int barrier; /* not answered yet; -1: none */
    int kept;    /* -1: nothing */
    char name[NAME_BYTES];
};

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

/* One message; returns its length, or -1. `*fd` is the descriptor in it, or -1. */
static ssize_t receive(int socket, void *bytes, size_t size, int *fd)
{
    union control control;
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    *fd = -1;
    if (length < 0)
        return -1;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(header), sizeof *fd);
    return length;
}

static bool send_answer(const struct store *store, int fd)
{
    struct answer answer = {.has_kept = store->kept >= 0};
    union control control = {.header = {.cmsg_level = SOL_SOCKET,
                                        .cmsg_type = SCM_RIGHTS,
                                        .cmsg_len = CMSG_LEN(sizeof fd)}};
    struct iovec part = {.iov_base = &answer, .iov_len = sizeof answer};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    memcpy(answer.name, store->name, sizeof answer.name);
    if (fd >= 0) {
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
    }
    return sendmsg(store->control, &message, MSG_NOSIGNAL) == (ssize_t)sizeof answer;
}

static void keep(struct store *store, const char *name, int fd)
{
    if (store->kept >= 0)
        close(store->kept);
    snprintf(store->name, sizeof store->name, "%s", name);
    store->kept = fd;
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

static void take_message(struct store *store)
{
    char text[512];
    int fd;
    ssize_t length = receive(store->socket, text, sizeof text - 1, &fd);
    if (length < 0)
        return;
    text[length] = '\0';
    bool removes = strstr(text, "FDSTOREREMOVE=1") != NULL;
    bool stores = !removes && strstr(text, "FDSTORE=1") != NULL && strstr(text, "FDPOLL=0") != NULL;
    const char *name = value(text, "FDNAME=");
    if (removes && name != NULL && strcmp(name, store->name) == 0) {
        keep(store, "", -1);
    } else if (stores && name != NULL && store->keeps) {
        keep(store, name, fd);
        fd = -1;
    }
    if (fd >= 0 && store->is_slow && store->barrier < 0) {
        store->barrier = fd;
        fd = -1;
    }
    if (fd >= 0)
        close(fd); /* the answer to a barrier is that, too */
}

/* Do what the test asks for; false: it is gone, or wants no more. */
static bool take_request(struct store *store)
{
    enum request request;
    int none;
    if (receive(store->control, &request, sizeof request, &none) != (ssize_t)sizeof request)
        return false;
    if (request == DROP)
        keep(store, "", -1);
    else if (request == STALL || request == GO_ON)
        store->is_stalled = request == STALL;
    else if (request == BE_SLOW)
        store->is_slow = true;
    return send_answer(store, request == TAKE ? store->kept : -1) && request != END;
}

static _Noreturn void serve(struct store *store)
{
    bool goes_on = true;
    while (goes_on) {
        struct pollfd mail[] = {{.fd = store->control, .events = POLLIN},
                                {.fd = store->is_stalled ? -1 : store->socket, .events = POLLIN}};
        if (poll(mail, 2, -1) < 0 && errno != EINTR)
            break;
        if ((mail[1].revents & POLLIN) != 0)
            take_message(store);
        if (mail[0].revents != 0)
            goes_on = take_request(store);
    }
    _exit(0);
}

static int bind_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    strcpy(address.sun_path, path);
    unlink(path);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

struct manager *manager_start(bool keeps)
{
    struct store store = {.keeps = keeps, .barrier = -1, .kept = -1};
    struct manager *manager = calloc(1, sizeof *manager);
    int ends[2];
    assert_non_null(manager);
    snprintf(manager->path, sizeof manager->path, "/tmp/rsm-manager.%d", (int)getpid());
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    store.socket = bind_socket(manager->path);
    store.control = ends[1];
    manager->control = ends[0];
    assert_int_equal(setenv("NOTIFY_SOCKET", manager->path, 1), 0);
    manager->pid = fork();
    assert_true(manager->pid >= 0);
    if (manager->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        children_unwatch();
        close(ends[0]);
        serve(&store);
    }
    close(store.socket);
    close(ends[1]);
    return manager;
}

/* Ask for something; it is done when this returns. `*fd` gets a descriptor of one's own, or -1. */
static struct answer ask(const struct manager *manager, enum request request, int *fd)
{
    struct answer answer;
    int none;
    assert_int_equal(send(manager->control, &request, sizeof request, MSG_NOSIGNAL),
                     sizeof request);
    assert_int_equal(receive(manager->control, &answer, sizeof answer, fd != NULL ? fd : &none),
                     sizeof answer);
    return answer;
}

void manager_drop(struct manager *manager)
{
    ask(manager, DROP, NULL);
}

bool manager_has_kept(const struct manager *manager)
{
    return ask(manager, LOOK, NULL).has_kept;
}

void manager_end(struct manager *manager)
{
    int status;
    ask(manager, END, NULL); /* actors hold the socket, too: to close it says nothing */
    close(manager->control);
    assert_int_equal(child_await(manager->pid, 0, WAIT_MS, &status), manager->pid);
    assert_int_equal(status, 0);
    unsetenv("NOTIFY_SOCKET");
    unlink(manager->path);
    free(manager);
}

void manager_stall(struct manager *manager, bool stalled)
{
    ask(manager, stalled ? STALL : GO_ON, NULL);
}

void manager_be_slow(struct manager *manager)
{
    ask(manager, BE_SLOW, NULL);
}

void manager_await_kept(const struct manager *manager)
{
    const struct timespec turn = {.tv_nsec = TURN_MS * 1000000L};
    for (int i = 0; !manager_has_kept(manager) && i < WAIT_MS / TURN_MS; i++)
        nanosleep(&turn, NULL);
    assert_true(manager_has_kept(manager));
}

pid_t manager_start_daemon(struct manager *manager, struct world *world, unsigned node)
{
    int kept;
    struct answer answer = ask(manager, TAKE, &kept);
    pid_t daemon = world_daemon_start_passed(world, node, "--keep-state", kept, answer.name);
    if (kept >= 0)
        close(kept);
    return daemon;
}
