/* SPDX-License-Identifier: BSD-3-Clause */
#include "descriptors.h"

#include <dirent.h>
#include <sys/epoll.h>

unsigned descriptors_open(void)
{
    struct stat status;
    if (stat("/proc/self/fd", &status) == 0 && status.st_size > 0) /* Linux 6.2 */
        return (unsigned)status.st_size;
    DIR *directory = opendir("/proc/self/fd");
    unsigned count = 0;
    if (directory == NULL)
        abort();
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 3; /* ".", ".." and the directory itself */
}

static int checked(int fd)
{
    if (fd < 0)
        abort();
    return fd;
}

int descriptor_memory(uint64_t length, int seals)
{
    int fd = checked(memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (ftruncate(fd, (off_t)length) < 0 || (seals != 0 && fcntl(fd, F_ADD_SEALS, seals) < 0))
        abort();
    return fd;
}

static int one_of_two(int ends[2], unsigned which)
{
    close(ends[1 - which]);
    return ends[which];
}

static int pipe_end(unsigned which)
{
    int ends[2];
    checked(pipe2(ends, O_CLOEXEC | O_NONBLOCK));
    return one_of_two(ends, which);
}

static int socket_end(void)
{
    int ends[2];
    checked(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
    return one_of_two(ends, 0);
}

int descriptor_make(struct input *in, int own)
{
    static const int seals[] = {0, F_SEAL_SHRINK, F_SEAL_SHRINK | F_SEAL_GROW,
                                F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | F_SEAL_FUTURE_WRITE};
    switch (input_below(in, 10)) {
    case 0:
        return pipe_end(1);
    case 1:
        return pipe_end(0);
    case 2:
        return checked(open("/dev/null", O_RDWR | O_CLOEXEC));
    case 3:
        return checked(open("/", O_PATH | O_CLOEXEC));
    case 4:
        return checked(epoll_create1(EPOLL_CLOEXEC));
    case 5:
        return socket_end();
    case 6:
        return checked(fcntl(own, F_DUPFD_CLOEXEC, 3));
    case 7:
        return descriptor_memory(4096 * (uint64_t)input_below(in, 16), seals[2]);
    default:
        return descriptor_memory(input_below(in, 2) != 0 ? 0x41000 : input_u8(in),
                                 seals[input_below(in, 4)]);
    }
}
