/* SPDX-License-Identifier: BSD-3-Clause */
/* The port over an ivshmem server, in the processes: no driver counts for them, so each writes
 * the counter of its connection in the shared memory, and a bell. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/descriptor.h"
#include "base/fence.h"
#include "base/sealed.h"
#include "base/status.h"
#include "transport/ntb/import/poster.h"

#include "port.h"
#include "words.h"

enum { TRIES = 100000 }; /* far more than threads of one program are in each other's way */

struct shared {
    uint64_t *counter;
    void *page; /* that has it */
    int bell;
};

/* An eventfd, or something else that has no inode of its own; whose write waits for nobody. Nothing
 * that raises SIGPIPE. */
static bool is_bell(int fd)
{
    struct stat file;
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_NONBLOCK) != 0 && fstat(fd, &file) == 0 &&
           (file.st_mode & S_IFMT) == 0;
}

static void end(struct ntb_poster *poster)
{
    struct shared *shared = poster->other;
    if (shared->bell >= 0)
        close(shared->bell);
    if (shared->page != MAP_FAILED)
        munmap(shared->page, IVSHMEM_GRANULE);
    free(shared);
}

/* Memory and bell. */
static enum rsm_status begin(struct ntb_poster *poster, const struct ntb_ticket *ticket,
                             int first_piece, const int *fds)
{
    uint64_t page = ticket->post_word / IVSHMEM_GRANULE * IVSHMEM_GRANULE;
    if (ticket->post_word % sizeof(uint64_t) != 0 || page > INT64_MAX - IVSHMEM_GRANULE ||
        !is_bell(fds[1]) || !rsm_is_sealed_memory(fds[0], page + IVSHMEM_GRANULE))
        return RSM_ST_PROTOCOL;
    struct shared *shared = calloc(1, sizeof *shared);
    if (shared == NULL)
        return RSM_ST_NO_MEMORY;
    poster->other = shared;
    shared->page = rsmcore_mmap_apart(IVSHMEM_GRANULE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0],
                                      (off_t)page);
    shared->bell = shared->page != MAP_FAILED ? rsmcore_fd_place_copy(fds[1]) : -1;
    if (shared->bell < 0) {
        enum rsm_status status = rsmcore_status_from_errno(errno);
        end(poster);
        return status;
    }
    shared->counter = (void *)((uint8_t *)shared->page + (ticket->post_word - page));
    return RSM_ST_OK;
}

/* The exporter has been told, or will look soon, if the bell is too full to ring. */
static void ring(int bell)
{
    static const uint64_t one = 1;
    struct pollfd room = {.fd = bell, .events = POLLOUT};
    if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0) {
        ssize_t ignored = write(bell, &one, sizeof one);
        (void)ignored;
    }
}

/* The word has one writer among the hosts, this one. On it there may be several, threads and
 * children: hence the exchange, which shared memory has. Whoever changes the word so often that
 * no try succeeds is a host that lies, and what the word has then is that host's own loss. */
static enum rsm_status post(const struct ntb_poster *poster, bool coalesce)
{
    const struct shared *shared = poster->other;
    uint64_t word = __atomic_load_n(shared->counter, __ATOMIC_RELAXED);
    bool stored = false;
    rsm_fence_stores();
    for (unsigned tries = 0; tries < TRIES && !stored; tries++) {
        uint64_t next = htole64(ntb_posts_next(le64toh(word), coalesce));
        stored = __atomic_compare_exchange_n(shared->counter, &word, next, false, __ATOMIC_SEQ_CST,
                                             __ATOMIC_RELAXED);
    }
    if (!stored)
        return RSM_ST_TRANSFER;
    ring(shared->bell);
    return RSM_ST_OK;
}

const struct ntb_poster_ops ntb_poster_ivshmem = {
    .fds = 2, .begin = begin, .end = end, .post = post};
