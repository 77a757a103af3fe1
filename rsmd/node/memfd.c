/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/descriptor.h"
#include "node/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

int rsmd_memfd_make(const char *name, size_t size, mode_t mode)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    fd = rsmcore_fd_above_stdio(fd);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)size) == 0 && fchmod(fd, mode) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int rsmd_fd_reopen(int fd, int flags)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return rsmcore_fd_above_stdio(open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

const char *rsmd_memfd_trouble(int error)
{
    if (error == ENOSYS || error == EPERM || error == EACCES)
        return "memfd_create() is refused: by an old kernel, by a seccomp filter of the container, "
               "or by "
               "the sysctl vm.memfd_noexec";
    if (error == ENOENT && access("/proc/self/fd", F_OK) != 0)
        return "/proc is not mounted, or not to be seen";
    return strerror(error);
}
