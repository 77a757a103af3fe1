/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/ntb/import/poster.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef NTB_CHARDEV
#include <rsm_ntb.h>
#endif

#include "base/apart.h"
#include "base/descriptor.h"
#include "base/fence.h"
#include "base/sealed.h"
#include "base/status.h"
#include "transport/ntb/common/posts.h"

enum { TRIES = 100000 }; /* far more than threads of one program are in each other's way */

void ntb_poster_init(struct ntb_poster *poster)
{
    *poster = (struct ntb_poster){.device = -1, .bell = -1};
}

enum rsm_status ntb_poster_begin_device(struct ntb_poster *poster, int fd)
{
    poster->device = rsmcore_fd_place_copy(fd);
    return poster->device >= 0 ? RSM_ST_OK : rsmcore_status_from_errno(errno);
}

/* An eventfd, or something else that has no inode of its own; whose write waits for nobody. Nothing
 * that raises SIGPIPE. */
static bool is_bell(int fd)
{
    struct stat file;
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_NONBLOCK) != 0 && fstat(fd, &file) == 0 &&
           (file.st_mode & S_IFMT) == 0;
}

enum rsm_status ntb_poster_begin_shared(struct ntb_poster *poster, int memory, uint64_t offset,
                                        int bell, size_t page_size)
{
    uint64_t page = offset / page_size * page_size;
    if (!is_bell(bell) || !rsm_is_sealed_memory(memory, page + page_size))
        return RSM_ST_PROTOCOL;
    void *mapped =
        rsmcore_mmap_apart(page_size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, (off_t)page);
    if (mapped == MAP_FAILED)
        return rsmcore_status_from_errno(errno);
    poster->page = mapped;
    poster->page_size = page_size;
    poster->counter = (uint64_t *)(void *)((uint8_t *)mapped + (offset - page));
    poster->bell = rsmcore_fd_place_copy(bell);
    return poster->bell >= 0 ? RSM_ST_OK : rsmcore_status_from_errno(errno);
}

void ntb_poster_end(struct ntb_poster *poster)
{
    if (poster->device >= 0)
        close(poster->device);
    if (poster->bell >= 0)
        close(poster->bell);
    if (poster->page != NULL)
        munmap(poster->page, poster->page_size);
    ntb_poster_init(poster);
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

/* The word has one writer among the hosts, this one. On it there may be several, threads and children:
 * hence the exchange, which shared memory has. Whoever changes the word so often that no try succeeds is a
 * host that lies, and what the word has then is that host's own loss. */
static enum rsm_status post_shared(const struct ntb_poster *poster, bool coalesce)
{
    uint64_t word = __atomic_load_n(poster->counter, __ATOMIC_RELAXED);
    bool stored = false;
    rsm_fence_stores();
    for (unsigned tries = 0; tries < TRIES && !stored; tries++) {
        uint64_t next = htole64(ntb_posts_next(le64toh(word), coalesce));
        stored = __atomic_compare_exchange_n(poster->counter, &word, next, false, __ATOMIC_SEQ_CST,
                                             __ATOMIC_RELAXED);
    }
    if (!stored)
        return RSM_ST_TRANSFER;
    ring(poster->bell);
    return RSM_ST_OK;
}

#ifdef NTB_CHARDEV
/* An import that has ended reaches nobody, and barriers report it. */
static enum rsm_status post_by_module(const struct ntb_poster *poster, bool coalesce)
{
    if (ioctl(poster->device, RSM_NTB_POST, coalesce ? RSM_NTB_POST_COALESCE : 0) == 0)
        return RSM_ST_OK;
    return errno == ESTALE || errno == ENODEV ? RSM_ST_OK : rsmcore_status_from_errno(errno);
}
#endif

enum rsm_status ntb_poster_post(const struct ntb_poster *poster, bool coalesce)
{
#ifdef NTB_CHARDEV
    if (poster->device >= 0)
        return post_by_module(poster, coalesce);
#endif
    return poster->counter != NULL ? post_shared(poster, coalesce) : RSM_ST_UNSUPPORTED;
}
