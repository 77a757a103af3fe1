/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { FIRST_OF_LIBRARY = 256 }; /* below are the application's own, as the RSM guide promises */

static int close_and_return(int fd, int result)
{
    int error = errno;
    close(fd);
    errno = error;
    return result;
}

int rsmcore_fd_above_stdio(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    return close_and_return(fd, rsmcore_fd_copy_above_stdio(fd));
}

int rsmcore_fd_copy_above_stdio(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

int rsmcore_fd_place(int fd)
{
    if (fd < 0 || fd >= FIRST_OF_LIBRARY)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OF_LIBRARY);
    /* EINVAL: the soft limit is 256 or less; EMFILE: all numbers from 256 up are taken. */
    if (moved < 0)
        return rsmcore_fd_above_stdio(fd);
    return close_and_return(fd, moved);
}

int rsmcore_fd_place_copy(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OF_LIBRARY);
    return copy >= 0 ? copy : rsmcore_fd_copy_above_stdio(fd);
}
