/* SPDX-License-Identifier: BSD-3-Clause */
#include "limits.h"

#include <rsmapi.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "machine.h"
#include "report.h"
#include "samples.h"

#define STOP ((uint64_t)1 << 62) /* ends a mode */

enum { TRIPS_MAX = 8, MESSAGE_BYTES = 64, SPINS_PER_YIELD = 1 << 14 };

struct partner_page {
    _Atomic uint64_t ping;
    uint64_t unused[7]; /* a cache line each */
    _Atomic uint64_t pong;
};

/* A message, and a descriptor unless it is -1. */
static bool send_message(int socket, char order, int fd)
{
    char bytes[MESSAGE_BYTES] = {order};
    struct iovec piece = {bytes, sizeof bytes};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {0};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof bytes;
}

/* The first byte of a message, or 0; *fd: its descriptor, or -1. */
static char receive_message(int socket, int *fd)
{
    char bytes[MESSAGE_BYTES];
    struct iovec piece = {bytes, sizeof bytes};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof *fd)];
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    *fd = -1;
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof bytes)
        return 0;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(header), sizeof *fd);
    return bytes[0];
}

/* ------------------------------------------------------------------ the partner's side */

static void mirror(struct partner_page *page)
{
    uint64_t seen = atomic_load(&page->pong);
    for (unsigned spins = 0; seen != STOP;) {
        uint64_t ping = atomic_load_explicit(&page->ping, memory_order_acquire);
        if (ping != seen) {
            seen = ping;
            atomic_store_explicit(&page->pong, ping, memory_order_release);
            spins = 0;
        } else if (++spins % SPINS_PER_YIELD == 0) {
            sched_yield();
        }
    }
}

static void answer_events(struct partner_page *page, int event)
{
    uint64_t count = 0;
    while (read(event, &count, sizeof count) == (ssize_t)sizeof count && count < STOP)
        atomic_fetch_add(&page->pong, 1);
    atomic_store(&page->pong, STOP);
}

/* Ends when the other end of the socket is closed, and with its parent. */
static _Noreturn void be_partner(const struct partner *partner, int socket, pid_t parent,
                                 bool remote)
{
    int fd;
    char order;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN);
    if (getppid() != parent)
        _exit(0);
    while ((order = receive_message(socket, &fd)) != 0) {
        if (order != PARTNER_FD && remote)
            machine_keep_to(PLACE_REMOTE);
        if (order == PARTNER_LINE)
            mirror(partner->page);
        else if (order == PARTNER_EVENTFD)
            answer_events(partner->page, partner->event);
        else if (!send_message(socket, order, partner->page_fd))
            break;
        if (order != PARTNER_FD)
            machine_keep_to_none();
    }
    _exit(0);
}

/* ------------------------------------------------------------------ our side */

static void *share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

bool partner_start(struct partner *partner, size_t bytes, bool remote)
{
    int ends[2];
    pid_t parent = getpid();
    *partner = (struct partner){.socket = -1, .bytes = bytes};
    partner->event = eventfd(0, EFD_CLOEXEC);
    partner->page_fd = memfd_create("rsmperf", MFD_CLOEXEC);
    partner->page = share(sizeof *partner->page);
    partner->memory = share(bytes);
    if (partner->event < 0 || partner->page_fd < 0 || partner->page == NULL ||
        partner->memory == NULL || ftruncate(partner->page_fd, sysconf(_SC_PAGESIZE)) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return false;
    partner->pid = fork();
    if (partner->pid == 0) {
        close(ends[0]);
        be_partner(partner, ends[1], parent, remote);
    }
    close(ends[1]);
    partner->socket = ends[0];
    memset(partner->memory, 1, bytes);
    return partner->pid > 0;
}

void partner_stop(struct partner *partner)
{
    if (partner->pid <= 0)
        return;
    close(partner->socket);
    kill(partner->pid, SIGKILL);
    waitpid(partner->pid, NULL, 0);
    partner->pid = 0;
}

int partner_send(struct partner *partner, enum partner_order order)
{
    atomic_store(&partner->page->ping, 0);
    atomic_store(&partner->page->pong, 0);
    if (!send_message(partner->socket, (char)order, -1))
        return TROUBLE_PARTNER;
    partner->order = (char)order;
    return 0;
}

int partner_rest(struct partner *partner)
{
    char order = partner->order;
    const uint64_t stop = STOP;
    partner->order = 0;
    if (order == PARTNER_LINE)
        atomic_store(&partner->page->ping, stop);
    else if (order == PARTNER_EVENTFD && write(partner->event, &stop, sizeof stop) < 0)
        return TROUBLE_SYSTEM;
    for (uint64_t pong; order != 0 && (pong = atomic_load(&partner->page->pong)) != STOP;)
        if (spin_until_not(&partner->page->pong, pong) != 0)
            return TROUBLE_PARTNER;
    return 0;
}

int partner_line(struct partner *partner)
{
    uint64_t old = atomic_load_explicit(&partner->page->pong, memory_order_relaxed);
    atomic_store_explicit(&partner->page->ping, old + 1, memory_order_release);
    return spin_until_not(&partner->page->pong, old) == 0 ? 0 : TROUBLE_PARTNER;
}

int partner_eventfd(struct partner *partner)
{
    const uint64_t one = 1;
    uint64_t old = atomic_load_explicit(&partner->page->pong, memory_order_relaxed);
    if (write(partner->event, &one, sizeof one) < 0)
        return TROUBLE_SYSTEM;
    return spin_until_not(&partner->page->pong, old) == 0 ? 0 : TROUBLE_PARTNER;
}

int partner_trips(struct partner *partner, unsigned trips, double *ns)
{
    int fds[TRIPS_MAX] = {-1, -1, -1, -1, -1, -1, -1, -1};
    unsigned done = 0;
    int trouble = 0;
    double start = clock_ns();
    for (; done < trips && done < TRIPS_MAX && trouble == 0; done++)
        if (!send_message(partner->socket, PARTNER_FD, -1) ||
            receive_message(partner->socket, &fds[done]) == 0)
            trouble = TROUBLE_PARTNER;
    *ns += clock_ns() - start;
    while (done > 0)
        if (fds[--done] >= 0)
            close(fds[done]);
    return trouble;
}

int limit_mmap(const struct partner *partner, size_t bytes, double *ns)
{
    double start = clock_ns();
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, partner->page_fd, 0);
    *ns += clock_ns() - start;
    if (memory == MAP_FAILED)
        return TROUBLE_SYSTEM;
    munmap(memory, bytes);
    return 0;
}

double limit_copy(void *to, const void *from, size_t bytes, unsigned batch)
{
    /* A call, as put and get are: the compiler must not see what is copied. */
    static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
    double start = clock_ns();
    for (unsigned i = 0; i < batch; i++)
        copy(to, from, bytes);
    return clock_ns() - start;
}

double limit_fence(unsigned batch)
{
    double start = clock_ns();
    for (unsigned i = 0; i < batch; i++)
        atomic_thread_fence(memory_order_seq_cst);
    return clock_ns() - start;
}
