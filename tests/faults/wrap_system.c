/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the kernel, as libc wraps them, and others of libc that can fail. */
#include "inject_internal.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* A function with a fixed number of arguments. */
#define WRAP(result, failure, kind, name, parameters, arguments)                                   \
    WAIT(result, failure, kind, false, name, parameters, arguments)

/* One that waits for somebody else if that is so. */
#define WAIT(result, failure, kind, waits, name, parameters, arguments)                            \
    result name parameters                                                                         \
    {                                                                                              \
        REAL(name)                                                                                 \
        if (faults_fail_or_wait(FAULT_##kind, waits))                                              \
            return failure;                                                                        \
        return real arguments;                                                                     \
    }

/* --- memory; munmap() fails only where it would cut a mapping in two, and leaves nothing to be
 * done */
WRAP(void *, MAP_FAILED, mmap, mmap,
     (void *at, size_t length, int prot, int flags, int fd, off_t o),
     (at, length, prot, flags, fd, o))
WRAP(int, -1, mprotect, mprotect, (void *at, size_t length, int prot), (at, length, prot))
WAIT(int, -1, madvise, advice == MADV_REMOVE, madvise, (void *at, size_t length, int advice),
     (at, length, advice))
WAIT(ssize_t, -1, process_vm_readv, pid != getpid(), process_vm_readv,
     (pid_t pid, const struct iovec *to, unsigned long to_count, const struct iovec *from,
      unsigned long from_count, unsigned long flags),
     (pid, to, to_count, from, from_count, flags))
WRAP(int, -1, shmctl, shmctl, (int id, int command, struct shmid_ds *buffer), (id, command, buffer))

int munmap(void *at, size_t length)
{
    REAL(munmap)
    faults_wait(FAULT_munmap, false);
    return real(at, length);
}

void *mremap(void *old, size_t old_length, size_t length, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    void *to = va_arg(rest, void *);
    va_end(rest);
    REAL(mremap)
    return faults_fail(FAULT_mremap) ? MAP_FAILED : real(old, old_length, length, flags, to);
}

/* --- descriptors */
WRAP(DIR *, NULL, fdopendir, fdopendir, (int fd), (fd))
WRAP(FILE *, NULL, fopen, fdopen, (int fd, const char *mode), (fd, mode))
WRAP(FILE *, NULL, fopen, fopen, (const char *path, const char *mode), (path, mode))
WRAP(FILE *, NULL, fopen, fopen64, (const char *path, const char *mode), (path, mode))
WRAP(int, -1, memfd_create, memfd_create, (const char *name, unsigned flags), (name, flags))
WRAP(int, -1, pipe2, pipe2, (int fds[2], int flags), (fds, flags))
WRAP(int, -1, socket, socket, (int domain, int type, int protocol), (domain, type, protocol))
WRAP(int, -1, dup, dup, (int fd), (fd))
WRAP(int, -1, dup, dup2, (int fd, int to), (fd, to))
WRAP(int, -1, eventfd, eventfd, (unsigned count, int flags), (count, flags))
WRAP(int, -1, signalfd, signalfd, (int fd, const sigset_t *mask, int flags), (fd, mask, flags))
WRAP(int, -1, epoll_create, epoll_create, (int size), (size))
WRAP(int, -1, epoll_create, epoll_create1, (int flags), (flags))
WAIT(int, -1, accept, faults_socket_waits(fd, 0, SO_RCVTIMEO), accept4,
     (int fd, struct sockaddr *address, socklen_t *length, int flags), (fd, address, length, flags))

void *dlopen(const char *path, int flags)
{
    REAL(dlopen)
    return faults_fail(FAULT_dlopen) ? NULL : real(path, flags);
}

/* The mode may be missing; what is then passed on is not looked at. */
#define OPEN(name, parameters, arguments)                                                          \
    int name parameters                                                                            \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = va_arg(rest, mode_t);                                                        \
        va_end(rest);                                                                              \
        REAL(name)                                                                                 \
        return faults_fail_or_wait(FAULT_open, faults_opens_shared(path)) ? -1 : real arguments;   \
    }
OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))

int fcntl(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    REAL(fcntl)
    bool duplicates = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    /* These cannot fail with a descriptor that is open. */
    bool cannot = command == F_GETFD || command == F_SETFD || command == F_GETFL ||
                  command == F_SETFL || command == F_GET_SEALS;
    bool waits = command == F_SETLKW || (command == F_ADD_SEALS && faults_is_shared(fd));
    if (!cannot && faults_fail_or_wait(duplicates ? FAULT_dup : FAULT_fcntl, waits))
        return -1;
    return real(fd, command, argument);
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    REAL(ioctl)
    return faults_fail(FAULT_ioctl) ? -1 : real(fd, request, argument);
}

int prctl(int option, ...)
{
    va_list rest;
    va_start(rest, option);
    unsigned long a[4];
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(rest, unsigned long);
    va_end(rest);
    REAL(prctl)
    return faults_fail(FAULT_prctl) ? -1 : real(option, a[0], a[1], a[2], a[3]);
}

/* --- messages */
WAIT(int, -1, connect, faults_socket_waits(fd, 0, SO_SNDTIMEO), connect,
     (int fd, const struct sockaddr *address, socklen_t length), (fd, address, length))
WRAP(int, -1, bind, bind, (int fd, const struct sockaddr *address, socklen_t length),
     (fd, address, length))
WRAP(int, -1, listen, listen, (int fd, int backlog), (fd, backlog))

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    REAL(sendmsg)
    if (faults_fail_or_wait(FAULT_sendmsg, faults_socket_waits(fd, flags, SO_SNDTIMEO)))
        return -1;
    faults_pass(fd, message);
    return real(fd, message, flags);
}

WAIT(ssize_t, -1, sendmsg, faults_socket_waits(fd, flags, SO_SNDTIMEO), send,
     (int fd, const void *bytes, size_t length, int flags), (fd, bytes, length, flags))

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    REAL(recvmsg)
    if (faults_fail_or_wait(FAULT_recvmsg, faults_socket_waits(fd, flags, SO_RCVTIMEO)))
        return -1;
    return real(fd, message, flags);
}

WAIT(ssize_t, -1, recvmsg, faults_socket_waits(fd, flags, SO_RCVTIMEO), recv,
     (int fd, void *bytes, size_t length, int flags), (fd, bytes, length, flags))
WAIT(int, -1, poll, faults_is_loop() ? ms != 0 : ms < 0, poll,
     (struct pollfd * fds, nfds_t count, int ms), (fds, count, ms))
WRAP(int, -1, setsockopt, setsockopt,
     (int fd, int level, int option, const void *value, socklen_t length),
     (fd, level, option, value, length))
WRAP(int, -1, getsockopt, getsockopt,
     (int fd, int level, int option, void *value, socklen_t *length),
     (fd, level, option, value, length))
WRAP(int, -1, epoll_ctl, epoll_ctl, (int fd, int op, int target, struct epoll_event *event),
     (fd, op, target, event))
WRAP(int, -1, epoll_wait, epoll_wait, (int fd, struct epoll_event *events, int most, int ms),
     (fd, events, most, ms))

/* --- files */
WAIT(ssize_t, -1, read, faults_is_shared(fd), read, (int fd, void *bytes, size_t length),
     (fd, bytes, length))
WAIT(ssize_t, -1, read, faults_is_shared(fd), pread,
     (int fd, void *bytes, size_t length, off_t offset), (fd, bytes, length, offset))
WAIT(ssize_t, -1, pwrite, faults_is_shared(fd), pwrite,
     (int fd, const void *bytes, size_t length, off_t offset), (fd, bytes, length, offset))
WAIT(int, -1, ftruncate, faults_is_shared(fd), ftruncate, (int fd, off_t length), (fd, length))
WAIT(int, -1, fallocate, faults_is_shared(fd), fallocate,
     (int fd, int mode, off_t offset, off_t length), (fd, mode, offset, length))
WRAP(int, -1, stat, stat, (const char *path, struct stat *status), (path, status))
WRAP(int, -1, stat, lstat, (const char *path, struct stat *status), (path, status))
WRAP(int, -1, stat, access, (const char *path, int mode), (path, mode))
WRAP(int, -1, mkdir, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(int, -1, unlink, unlink, (const char *path), (path))
WRAP(ssize_t, -1, readlink, readlink, (const char *path, char *to, size_t size), (path, to, size))
WAIT(int, -1, flock, (operation & LOCK_NB) == 0, flock, (int fd, int operation), (fd, operation))

ssize_t write(int fd, const void *bytes, size_t length)
{
    REAL(write)
    faults_wait(FAULT_write, faults_is_shared(fd));
    return real(fd, bytes, length);
}

/* That of memory that others have, too, ends nothing of theirs. */
int close(int fd)
{
    struct stat status;
    REAL(close)
    faults_wait(FAULT_close,
                fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) && faults_is_shared(fd));
    return real(fd);
}

/* --- threads, time, signals */
WRAP(int, errno, pthread_create, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*function)(void *),
      void *argument),
     (thread, attributes, function, argument))
WAIT(int, -1, sleep, faults_is_loop(), nanosleep,
     (const struct timespec *time, struct timespec *left), (time, left))
WRAP(int, errno, sleep, clock_nanosleep,
     (clockid_t clock, int flags, const struct timespec *time, struct timespec *left),
     (clock, flags, time, left))
WRAP(int, -1, sigtimedwait, sigtimedwait,
     (const sigset_t *set, siginfo_t *info, const struct timespec *most), (set, info, most))
WRAP(ssize_t, -1, getrandom, getrandom, (void *bytes, size_t length, unsigned flags),
     (bytes, length, flags))

/* --- by number; those that are not here cannot fail, or are as good as over when they do */
static int kind_of(long number, const long *a)
{
    switch (number) {
    case SYS_userfaultfd:
        return FAULT_userfaultfd;
    case SYS_mmap:
        return FAULT_mmap;
    case SYS_pwrite64:
        return FAULT_pwrite;
    case SYS_kcmp:
        return FAULT_kcmp;
    case SYS_clone:
        return FAULT_clone;
    case SYS_wait4:
        return FAULT_wait;
    case SYS_execve:
        return FAULT_execve;
    case SYS_pidfd_open:
        return FAULT_pidfd_open;
    case SYS_set_robust_list:
        return a[0] != 0 ? FAULT_set_robust_list : -1;
    case SYS_futex: {
        int command = (int)a[1] & FUTEX_CMD_MASK;
        return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET ? FAULT_futex : -1;
    }
    default:
        return -1;
    }
}

long syscall(long number, ...)
{
    long a[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    REAL(syscall)
    int kind = kind_of(number, a);
    bool waits = (kind == FAULT_futex && (faults_is_loop() || a[3] == 0)) ||
                 (kind == FAULT_pwrite && faults_is_shared((int)a[0]));
    if (kind >= 0 && faults_fail_or_wait((enum fault_kind)kind, waits))
        return -1;
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
