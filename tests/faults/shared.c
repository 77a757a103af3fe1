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

enum { FILES = FAULT_FILES };

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

static uint64_t name_of(const struct stat *status)
{
    return (uint64_t)status->st_ino << 12 | (status->st_dev & 0xfff);
}

/* The entry of a file; a free one if there is none, NULL if there is no room. */
static struct fault_given *find_given(struct fault_shared *all, uint64_t file)
{
    uint32_t at = (uint32_t)(file * 2654435761u >> 8) & (FILES - 1);
    for (unsigned i = 0; i < FILES; i++, at = (at + 1) & (FILES - 1)) {
        uint64_t there = atomic_load(&all->given[at].file);
        if (there == file || there == 0)
            return &all->given[at];
    }
    return NULL;
}

/* A daemon gives a file to a client. There are two daemons, each of which has its own files. */
static void give(int fd, int32_t pid)
{
    struct stat status;
    struct fault_shared *all = faults_all();
    if (all == NULL || !faults_is_loop() || fstat(fd, &status) < 0 || !has_lock(&status))
        return;
    struct fault_given *given = find_given(all, name_of(&status));
    if (given == NULL)
        return;
    uint64_t none = 0;
    if (atomic_compare_exchange_strong(&given->file, &none, name_of(&status)))
        atomic_store(&given->pid, pid);
    else if (atomic_load(&given->pid) != pid)
        atomic_store(&given->others, true);
}

static bool others_were_given(const struct stat *status)
{
    struct fault_shared *all = faults_is_loop() ? NULL : faults_all();
    const struct fault_given *given = all != NULL ? find_given(all, name_of(status)) : NULL;
    return given != NULL && atomic_load(&given->others);
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

void faults_pass(int socket, const struct msghdr *message)
{
    struct ucred peer = {.pid = 0};
    socklen_t size = sizeof peer;
    int error = errno;
    if (message->msg_controllen == 0)
        return;
    (void)getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
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
            give(fd, peer.pid);
        }
    }
    errno = error;
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
        known = known || others_were_given(&status);
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
