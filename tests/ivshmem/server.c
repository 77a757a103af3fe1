/* SPDX-License-Identifier: BSD-3-Clause */
#include "server.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { CLIENTS = 2, ID_MAX = 65535, BACKLOG = 16 };

/* By the half of the memory that it has. */
struct client {
    int socket; /* -1: none */
    uint32_t id;
    int bell[IVSHMEM_SERVER_VECTORS_MAX];
};

struct server {
    int listener, memory;
    unsigned vectors;
    struct client client[CLIENTS];
    uint32_t next[CLIENTS]; /* id */
};

int ivshmem_server_listen(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0)
        return -1;
    (void)unlink(path);
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) == 0 &&
        chmod(path, S_IRUSR | S_IWUSR) == 0 && listen(listener, BACKLOG) == 0)
        return listener;
    int error = errno;
    close(listener);
    errno = error;
    return -1;
}

int ivshmem_server_memory(uint64_t size)
{
    int memory = memfd_create("ivshmem", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory < 0)
        return -1;
    if (ftruncate(memory, (off_t)size) == 0 && fchmod(memory, S_IRUSR | S_IWUSR) == 0 &&
        fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return memory;
    int error = errno;
    close(memory);
    errno = error;
    return -1;
}

/* A client that does not take what it is sent is as good as gone; its socket will say so. */
static void send_number(int socket, int64_t number, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    uint64_t raw = htole64((uint64_t)number);
    struct iovec part = {.iov_base = &raw, .iov_len = sizeof raw};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    if (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof raw)
        shutdown(socket, SHUT_RDWR);
}

static void send_bells(const struct server *server, int socket, const struct client *of)
{
    for (unsigned i = 0; i < server->vectors; i++)
        send_number(socket, of->id, of->bell[i]);
}

static void drop(struct server *server, unsigned which)
{
    struct client *client = &server->client[which];
    const struct client *other = &server->client[1 - which];
    close(client->socket);
    client->socket = -1;
    for (unsigned i = 0; i < server->vectors; i++)
        close(client->bell[i]);
    if (other->socket >= 0)
        send_number(other->socket, client->id, -1);
}

static bool make_bells(const struct server *server, struct client *client)
{
    for (unsigned i = 0; i < server->vectors; i++) {
        client->bell[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (client->bell[i] >= 0)
            continue;
        while (i > 0)
            close(client->bell[--i]);
        return false;
    }
    return true;
}

static void admit(struct server *server, int socket)
{
    unsigned which = server->client[0].socket < 0 ? 0 : 1;
    struct client *client = &server->client[which];
    const struct client *other = &server->client[1 - which];
    if (client->socket >= 0 || server->next[which] > ID_MAX || !make_bells(server, client)) {
        close(socket);
        return;
    }
    client->socket = socket;
    client->id = server->next[which];
    server->next[which] += CLIENTS;
    send_number(socket, 0, -1); /* version */
    send_number(socket, client->id, -1);
    send_number(socket, -1, server->memory);
    if (other->socket >= 0) {
        send_bells(server, socket, other);
        send_bells(server, other->socket, client);
    }
    send_bells(server, socket, client);
}

/* A client sends nothing; whatever comes is its end. */
static void look_for_ends(struct server *server)
{
    char byte;
    for (unsigned i = 0; i < CLIENTS; i++)
        if (server->client[i].socket >= 0 &&
            (recv(server->client[i].socket, &byte, 1, MSG_DONTWAIT) >= 0 ||
             (errno != EAGAIN && errno != EINTR)))
            drop(server, i);
}

static bool is_full(const struct server *server)
{
    return server->client[0].socket >= 0 && server->client[1].socket >= 0;
}

bool ivshmem_server_run(int listener, int memory, unsigned vectors, int stop)
{
    struct server server = {.listener = listener,
                            .memory = memory,
                            .vectors = vectors,
                            .client = {{.socket = -1}, {.socket = -1}},
                            .next = {0, 1}};
    struct pollfd fds[] = {{.fd = stop, .events = POLLIN},
                           {.fd = listener, .events = POLLIN},
                           {.events = POLLIN},
                           {.events = POLLIN}};
    while (fds[0].revents == 0) {
        for (unsigned i = 0; i < CLIENTS; i++)
            fds[2 + i].fd = server.client[i].socket;
        fds[1].fd = is_full(&server) ? -1 : listener;
        if (poll(fds, sizeof fds / sizeof fds[0], -1) < 0 && errno != EINTR)
            return false;
        look_for_ends(&server);
        int socket =
            is_full(&server) ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket >= 0)
            admit(&server, socket);
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        if (server.client[i].socket >= 0)
            drop(&server, i);
    return true;
}
