/* SPDX-License-Identifier: BSD-3-Clause */
/* Failures of the C library, put in its way by the linker (--wrap). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "unit/rsmapi/fake_core.h"

struct injection inject_calloc, inject_poll, inject_open, inject_fdopen, inject_fd_place,
    inject_vm_read;
unsigned umask_calls;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
int __real_poll(struct pollfd *fds, nfds_t nfds, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t nfds, int timeout);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
FILE *__real_fdopen(int fd, const char *mode);
FILE *__wrap_fdopen(int fd, const char *mode);
mode_t __real_umask(mode_t mask);
mode_t __wrap_umask(mode_t mask);
int __real_rsmcore_fd_place(int fd);
int __wrap_rsmcore_fd_place(int fd);
ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count,
                                unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count,
                                unsigned long flags);

static bool fails(struct injection *injection)
{
    if (injection->error == 0 || injection->skip-- > 0)
        return false;
    errno = injection->error;
    injection->error = 0;
    return true;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails(&inject_calloc) ? NULL : __real_calloc(count, size);
}

int __wrap_poll(struct pollfd *fds, nfds_t nfds, int timeout)
{
    return fails(&inject_poll) ? -1 : __real_poll(fds, nfds, timeout);
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return fails(&inject_open) ? -1 : __real_open(path, flags, mode);
}

FILE *__wrap_fdopen(int fd, const char *mode)
{
    return fails(&inject_fdopen) ? NULL : __real_fdopen(fd, mode);
}

int __wrap_rsmcore_fd_place(int fd)
{
    if (!fails(&inject_fd_place))
        return __real_rsmcore_fd_place(fd);
    close(fd);
    return -1;
}

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count,
                                unsigned long flags)
{
    return fails(&inject_vm_read)
               ? -1
               : __real_process_vm_readv(pid, local, local_count, remote, remote_count, flags);
}

mode_t __wrap_umask(mode_t mask)
{
    umask_calls++;
    return __real_umask(mask);
}
