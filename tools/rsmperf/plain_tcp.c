/* SPDX-License-Identifier: BSD-3-Clause */
#include "plain_tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"
#include "report.h"
#include "samples.h"

enum {
    SPIN_US = 50, /* as librsm's tcp */
    ANSWER_MS = 10000,
};
#define NS_PER_US 1e3

/* ------------------------------------------------------------------ sockets */

static void set_up(int socket)
{
    const int yes = 1;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/* The address of a socket call, and its length. */
static socklen_t socket_address(const struct in6_addr *address, uint16_t port,
                                struct sockaddr_storage *made)
{
    memset(made, 0, sizeof *made);
    if (IN6_IS_ADDR_V4MAPPED(address)) {
        struct sockaddr_in *v4 = (void *)made;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        memcpy(&v4->sin_addr, &address->s6_addr[12], sizeof v4->sin_addr);
        return sizeof *v4;
    }
    struct sockaddr_in6 *v6 = (void *)made;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    v6->sin6_addr = *address;
    return sizeof *v6;
}

bool plain_address_read(const char *text, struct in6_addr *address)
{
    struct in_addr v4;
    if (inet_pton(AF_INET6, text, address) == 1)
        return true;
    if (inet_pton(AF_INET, text, &v4) != 1)
        return false;
    memset(address, 0, sizeof *address);
    memset(&address->s6_addr[10], 0xff, 2);
    memcpy(&address->s6_addr[12], &v4, sizeof v4);
    return true;
}

static bool send_all(int socket, const void *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(socket, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes = (const char *)bytes + sent;
        length -= (size_t)sent;
    }
    return true;
}

/* ------------------------------------------------------------------ the exporter's side */

/* What is put is received into the same memory from its beginning again. */
static bool take_bytes(int socket, char *memory, size_t bytes, uint64_t count)
{
    for (; count > 0; count--)
        for (size_t left = bytes; left > 0;) {
            ssize_t got = recv(socket, memory + (bytes - left), left, 0);
            if (got <= 0)
                return false;
            left -= (size_t)got;
        }
    return true;
}

static bool give_bytes(int socket, const char *memory, size_t bytes, uint64_t count)
{
    bool well = true;
    for (; count > 0 && well; count--)
        well = send_all(socket, memory, bytes);
    return well;
}

static void serve_importer(int socket, char *memory, size_t bytes)
{
    struct plain_request request;
    bool well = true;
    set_up(socket);
    while (well && recv(socket, &request, sizeof request, MSG_WAITALL) == (ssize_t)sizeof request) {
        if (request.bytes > bytes)
            return;
        if (request.operation == PLAIN_GET)
            well = give_bytes(socket, memory, (size_t)request.bytes, request.count);
        else
            well = take_bytes(socket, memory, (size_t)request.bytes, request.count) &&
                   send_all(socket, &request, sizeof request);
    }
}

static _Noreturn void end_with_parent(pid_t parent, int listener, size_t bytes)
{
    /* as that of segments is */
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN); /* a terminal sends it to all of us; the parent decides */
    signal(SIGCHLD, SIG_IGN);
    if (getppid() != parent || memory == MAP_FAILED)
        _exit(EXIT_FAILURE);
    memset(memory, 1, bytes);
    for (pid_t self = getpid();;) {
        int socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (socket < 0)
            continue;
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() == self)
                serve_importer(socket, memory, bytes);
            _exit(EXIT_SUCCESS);
        }
        close(socket);
    }
}

bool plain_server_start(struct plain_server *server, const char *address, size_t bytes)
{
    struct sockaddr_storage at;
    pid_t parent = getpid();
    *server = (struct plain_server){.pid = 0};
    if (!plain_address_read(address, &server->address)) {
        errno = EINVAL;
        return false;
    }
    socklen_t length = socket_address(&server->address, 0, &at);
    int listener = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0)
        return false;
    if (bind(listener, (struct sockaddr *)&at, length) == 0 &&
        listen(listener, IMPORTERS_MAX) == 0 &&
        getsockname(listener, (struct sockaddr *)&at, &length) == 0)
        server->pid = fork();
    if (server->pid == 0 && getpid() != parent)
        end_with_parent(parent, listener, bytes);
    close(listener);
    if (server->pid <= 0)
        return false;
    server->port = ntohs(at.ss_family == AF_INET ? ((struct sockaddr_in *)(void *)&at)->sin_port
                                                 : ((struct sockaddr_in6 *)(void *)&at)->sin6_port);
    return true;
}

void plain_server_stop(struct plain_server *server)
{
    if (server->pid <= 0)
        return;
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

/* ------------------------------------------------------------------ the importer's side */

int plain_connect(const struct in6_addr *address, uint16_t port)
{
    struct sockaddr_storage at;
    socklen_t length = socket_address(address, port, &at);
    const struct timeval timeout = {.tv_sec = ANSWER_MS / 1000};
    int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    set_up(fd);
    if (connect(fd, (struct sockaddr *)&at, length) == 0)
        return fd;
    close(fd);
    return -1;
}

int plain_put(int socket, const void *data, size_t bytes, unsigned count)
{
    const struct plain_request request = {PLAIN_PUT, bytes, count};
    struct iovec parts[] = {{(void *)(uintptr_t)&request, sizeof request},
                            {(void *)(uintptr_t)data, bytes}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < (ssize_t)sizeof request)
        return TROUBLE_PARTNER;
    size_t of_data = (size_t)sent - sizeof request;
    bool well = send_all(socket, (const char *)data + of_data, bytes - of_data);
    while (well && --count > 0)
        well = send_all(socket, data, bytes);
    return well ? 0 : TROUBLE_PARTNER;
}

static ssize_t receive(int socket, void *bytes, size_t length, enum plain_wait wait)
{
    static long processors;
    if (processors == 0)
        processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (wait == PLAIN_POLLS && processors > 1) {
        double until = 0;
        do {
            ssize_t got = recv(socket, bytes, length, MSG_DONTWAIT);
            if (got >= 0 || errno != EAGAIN)
                return got;
            if (until == 0)
                until = clock_ns() + SPIN_US * NS_PER_US;
        } while (clock_ns() < until);
    }
    return recv(socket, bytes, length, 0);
}

static int receive_all(int socket, void *bytes, size_t length, enum plain_wait wait)
{
    while (length > 0) {
        ssize_t got = receive(socket, bytes, length, wait);
        if (got <= 0)
            return TROUBLE_PARTNER;
        bytes = (char *)bytes + got;
        length -= (size_t)got;
    }
    return 0;
}

int plain_answer(int socket, enum plain_wait wait)
{
    struct plain_request answer;
    return receive_all(socket, &answer, sizeof answer, wait);
}

int plain_get(int socket, void *data, size_t bytes, unsigned count, enum plain_wait wait)
{
    const struct plain_request request = {PLAIN_GET, bytes, count};
    int trouble = send_all(socket, &request, sizeof request) ? 0 : TROUBLE_PARTNER;
    for (; count > 0 && trouble == 0; count--)
        trouble = receive_all(socket, data, bytes, wait);
    return trouble;
}
