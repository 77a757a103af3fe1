/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/sealed.h"

enum { SERVER_MS = 5000, ID_MAX = 65535 };

/* One message: a number, and perhaps a descriptor. 1: taken; 0: none is there; -1: the server has
 * gone, or sends nonsense. */
static int receive(int socket, int64_t *number, int *fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    uint64_t raw;
    struct iovec part = {.iov_base = &raw, .iov_len = sizeof raw};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    *fd = -1;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        memcpy(fd, CMSG_DATA(header), sizeof *fd);
        *fd = rsmcore_fd_above_stdio(*fd);
    }
    *number = (int64_t)le64toh(raw);
    if (got == sizeof raw)
        return 1;
    if (*fd >= 0)
        close(*fd);
    return -1;
}

/* The same, waiting until @p end. */
static bool await(int socket, int64_t end, int64_t *number, int *fd)
{
    struct pollfd readable = {.fd = socket, .events = POLLIN};
    for (;;) {
        int got = receive(socket, number, fd);
        if (got != 0)
            return got > 0;
        if (poll(&readable, 1, rsm_deadline_left_ms(end)) == 0)
            return false;
    }
}

/* Version, own id and memory, in this order. */
static bool greet(struct ivshmem *ivshmem)
{
    int64_t end = rsm_deadline(SERVER_MS), version, id, memory;
    int none;
    if (!await(ivshmem->socket, end, &version, &none) || none >= 0 || version != 0)
        return false;
    if (!await(ivshmem->socket, end, &id, &none) || none >= 0 || id < 0 || id > ID_MAX)
        return false;
    ivshmem->id = (uint32_t)id;
    return await(ivshmem->socket, end, &memory, &ivshmem->memory) && memory == -1 &&
           ivshmem->memory >= 0;
}

static bool map(struct ivshmem *ivshmem)
{
    struct stat file;
    if (fstat(ivshmem->memory, &file) < 0 || file.st_size <= 0)
        return false;
    ivshmem->size = (uint64_t)file.st_size;
    void *base = mmap(NULL, ivshmem->size, PROT_READ | PROT_WRITE, MAP_SHARED, ivshmem->memory, 0);
    if (base == MAP_FAILED)
        return false;
    ivshmem->base = base;
    return true;
}

static bool connect_to(struct ivshmem *ivshmem, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        rsm_log_error("ntb: ivshmem: the name of the socket is too long: %s", path);
        return false;
    }
    strcpy(address.sun_path, path);
    ivshmem->socket = rsmcore_fd_above_stdio(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (ivshmem->socket >= 0 &&
        connect(ivshmem->socket, (const struct sockaddr *)&address, sizeof address) == 0)
        return true;
    rsm_log_error("ntb: ivshmem: cannot connect to the server at %s (%s): start one, or correct "
                  "the controller's device",
                  path, strerror(errno));
    return false;
}

bool ivshmem_open(struct ivshmem *ivshmem, const char *path)
{
    *ivshmem = (struct ivshmem){.socket = -1, .memory = -1};
    if (!connect_to(ivshmem, path)) {
        ivshmem_close(ivshmem);
        return false;
    }
    bool ready = greet(ivshmem) && map(ivshmem);
    /* Processes map this memory, and must not be killed by who truncates it. */
    bool sealed = ready && rsm_is_sealed_memory(ivshmem->memory, ivshmem->size);
    if (sealed)
        return true;
    rsm_log_error(ready ? "ntb: ivshmem: the server at %s gives memory that is not a memfd sealed "
                          "against shrinking"
                        : "ntb: ivshmem: the server at %s gives no memory: two hosts may be "
                          "connected to it already, or it is no ivshmem server",
                  path);
    ivshmem_close(ivshmem);
    return false;
}

static void close_bells(int *bells, unsigned *count)
{
    while (*count > 0)
        close(bells[--*count]);
}

void ivshmem_close(struct ivshmem *ivshmem)
{
    close_bells(ivshmem->peer_bell, &ivshmem->peer_bells);
    close_bells(ivshmem->bell, &ivshmem->bells);
    if (ivshmem->base != NULL)
        munmap(ivshmem->base, ivshmem->size);
    if (ivshmem->memory >= 0)
        close(ivshmem->memory);
    if (ivshmem->socket >= 0)
        close(ivshmem->socket);
    *ivshmem = (struct ivshmem){.socket = -1, .memory = -1};
}

static void add_bell(int *bells, unsigned *count, int fd)
{
    if (*count < IVSHMEM_VECTORS_MAX)
        bells[(*count)++] = fd;
    else
        close(fd);
}

static void take(struct ivshmem *ivshmem, uint32_t id, int fd)
{
    if (id == ivshmem->id) {
        if (fd >= 0)
            add_bell(ivshmem->bell, &ivshmem->bells, fd);
        return;
    }
    bool other = ivshmem->peer && id != ivshmem->peer_id;
    if (fd < 0 && !other) {
        close_bells(ivshmem->peer_bell, &ivshmem->peer_bells);
        ivshmem->peer = false;
    } else if (fd >= 0 && (id & 1) != (ivshmem->id & 1)) {
        if (other) /* the former one's end has not been told yet */
            close_bells(ivshmem->peer_bell, &ivshmem->peer_bells);
        ivshmem->peer = true;
        ivshmem->peer_id = id;
        add_bell(ivshmem->peer_bell, &ivshmem->peer_bells, fd);
    } else if (fd >= 0) {
        close(fd);
    }
}

bool ivshmem_service(struct ivshmem *ivshmem)
{
    int64_t number;
    int fd, got;
    if (ivshmem->socket < 0)
        return false;
    while ((got = receive(ivshmem->socket, &number, &fd)) > 0) {
        if (number >= 0 && number <= ID_MAX)
            take(ivshmem, (uint32_t)number, fd);
        else if (fd >= 0)
            close(fd);
    }
    if (got == 0)
        return true;
    close(ivshmem->socket);
    ivshmem->socket = -1;
    close_bells(ivshmem->peer_bell, &ivshmem->peer_bells);
    ivshmem->peer = false;
    return false;
}

void ivshmem_ring(const struct ivshmem *ivshmem)
{
    static const uint64_t one = 1;
    if (ivshmem->peer_bells > IVSHMEM_BELL &&
        write(ivshmem->peer_bell[IVSHMEM_BELL], &one, sizeof one) < 0 && errno != EAGAIN)
        rsm_log_debug("ntb: ivshmem: cannot ring: %s", strerror(errno));
}

void ivshmem_take_bells(const struct ivshmem *ivshmem)
{
    uint64_t rings;
    for (unsigned i = 0; i < ivshmem->bells; i++)
        while (i != IVSHMEM_POST_BELL && read(ivshmem->bell[i], &rings, sizeof rings) > 0)
            ;
}
