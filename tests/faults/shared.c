/* SPDX-License-Identifier: BSD-3-Clause */
/* In the preloaded library: what calls can wait for. Whoever has a file can hold the lock that the kernel
 * takes for a call on it, for as long as he likes, by a write from memory that does not come. */
#include "inject_internal.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

enum { FILES = 1 << 14 }; /* that are remembered; a power of two */

static struct {
    uint64_t number; /* of its inode; 0: free entry */
    uint64_t device;
} files[FILES];
static uint32_t file_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Descriptors of the kernel's own kinds, such as eventfd's, share an inode, and have no such lock. */
static bool has_lock(const struct stat *status)
{
    return S_ISREG(status->st_mode) || S_ISFIFO(status->st_mode);
}

/* Under the lock: its entry, or the free one where it belongs. */
static uint32_t place_of(const struct stat *status)
{
    uint32_t at = (uint32_t)(status->st_ino * 2654435761u >> 8) & (FILES - 1);
    while (files[at].number != 0 &&
           (files[at].number != status->st_ino || files[at].device != status->st_dev))
        at = (at + 1) & (FILES - 1);
    return at;
}

static void remember(int fd)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || !has_lock(&status))
        return;
    pthread_mutex_lock(&lock);
    uint32_t at = place_of(&status);
    if (files[at].number == 0 && file_count < FILES / 2) {
        files[at].number = status.st_ino;
        files[at].device = status.st_dev;
        file_count++;
    }
    pthread_mutex_unlock(&lock);
}

void faults_pass(const struct msghdr *message)
{
    struct msghdr *header = (struct msghdr *)(uintptr_t)message;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part != NULL;
         part = CMSG_NXTHDR(header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            remember(fd);
        }
    }
}

bool faults_is_shared(int fd)
{
    struct stat status;
    int error = errno;
    bool known = fstat(fd, &status) == 0 && has_lock(&status);
    if (known) {
        pthread_mutex_lock(&lock);
        known = files[place_of(&status)].number != 0;
        pthread_mutex_unlock(&lock);
    }
    errno = error;
    return known;
}

bool faults_opens_shared(const char *path)
{
    static const char own[] = "/proc/self/fd/";
    size_t length = sizeof own - 1;
    return strncmp(path, own, length) == 0 && path[length] != '\0' &&
           faults_is_shared(atoi(path + length));
}

bool faults_socket_waits(int fd, int flags, int timeout)
{
    struct timeval most = {.tv_sec = 0};
    socklen_t size = sizeof most;
    int error = errno;
    int mode = (flags & MSG_DONTWAIT) != 0 ? O_NONBLOCK : fcntl(fd, F_GETFL);
    bool bounded = mode < 0 || (mode & O_NONBLOCK) != 0 ||
                   (!faults_is_loop() && getsockopt(fd, SOL_SOCKET, timeout, &most, &size) == 0 &&
                    (most.tv_sec > 0 || most.tv_usec > 0));
    errno = error;
    return !bounded;
}
