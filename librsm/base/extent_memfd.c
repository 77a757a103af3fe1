/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/extent_memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/sealed.h"
#include "base/status.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

static int make_memfd(void)
{
    int fd = memfd_create("rsm-extent", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
        fd = memfd_create("rsm-extent", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return rsmcore_fd_above_stdio(fd);
}

/* The size is fixed for good, and so are the seals: a process that holds the descriptor cannot
 * make the others fault, nor take their rights away by a seal of its own. */
static int shape_memfd(int fd, uint64_t length)
{
    if (ftruncate(fd, (off_t)length) < 0 || fchmod(fd, S_IRUSR) < 0)
        return -1;
    return fcntl(fd, F_ADD_SEALS, RSM_SEALS_NEEDED | F_SEAL_GROW | F_SEAL_SEAL);
}

int rsmcore_extent_memfd(uint64_t length)
{
    int fd = make_memfd();
    if (fd >= 0 && shape_memfd(fd, length) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* What an importer would refuse must not be offered, nor what it could open anew for writing. */
bool rsmcore_extent_is_shareable(int fd, uint64_t length)
{
    struct stat file;
    return rsm_is_sealed_memory(fd, length) && fstat(fd, &file) == 0 &&
           (file.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0;
}

int rsmcore_extent_memfd_share(int fd, bool writable)
{
    if (writable)
        return rsmcore_fd_copy_above_stdio(fd);
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    /* O_NONBLOCK: an importer's file lease must not hold the daemon up. */
    return rsmcore_fd_above_stdio(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

/* ------------------------------------------------------------------ as extents */

/* An extent of a memfd, which is then its own unless the flags say otherwise. */
static enum rsm_status enclose(int fd, uint64_t length, uint32_t flags, struct rsm_extent **extent)
{
    struct rsm_extent *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    *made =
        (struct rsm_extent){.kind = RSM_EXTENT_MEMFD, .fd = fd, .length = length, .flags = flags};
    *extent = made;
    return RSM_ST_OK;
}

/* The same of one that was made for it; -1 with errno: it could not be. */
static enum rsm_status enclose_new(int fd, uint64_t length, struct rsm_extent **extent)
{
    if (fd < 0)
        return rsmcore_status_from_errno(errno);
    enum rsm_status status = enclose(fd, length, 0, extent);
    if (status != RSM_ST_OK)
        close(fd);
    return status;
}

static bool is_length(uint64_t page, uint64_t length)
{
    return length != 0 && length <= INT64_MAX && length % page == 0;
}

enum rsm_status rsmcore_extent_memfd_make(uint64_t page, uint64_t length,
                                          struct rsm_extent **extent)
{
    return is_length(page, length) ? enclose_new(rsmcore_extent_memfd(length), length, extent)
                                   : RSM_ST_INVALID;
}

enum rsm_status rsmcore_extent_memfd_adopt(uint64_t page, int fd, uint64_t length,
                                           struct rsm_extent **extent)
{
    bool usable = is_length(page, length) && rsmcore_extent_is_shareable(fd, length);
    return usable ? enclose(fd, length, RSM_EXTENT_ADOPTED, extent) : RSM_ST_INVALID;
}

enum rsm_status rsmcore_extent_memfd_take(uint64_t page, int fd, uint64_t length,
                                          struct rsm_extent **extent)
{
    bool usable = is_length(page, length) && rsmcore_extent_is_shareable(fd, length);
    return usable ? enclose(fd, length, 0, extent) : RSM_ST_INVALID;
}

void rsmcore_extent_memfd_free(struct rsm_node_port *port, struct rsm_extent *extent)
{
    (void)port;
    if ((extent->flags & RSM_EXTENT_ADOPTED) == 0)
        close(extent->fd);
    free(extent);
}
