/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the preloaded library of fault injection and the programs that steer it have in common.
 *
 * The driver (driver.c) makes one block of shared memory with a slot for each process that is
 * injected into. The library (inject.c) counts the calls of each kind in its slot and fails the
 * n-th of those that `mask` selects. Slot 0 is the client's, slot N that of the daemon of node N.
 */
#ifndef TESTS_FAULTS_INJECT_H
#define TESTS_FAULTS_INJECT_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Name, group, and up to three error numbers that the kernel or libc may give. A group is what one
 * test of ctest takes; errors that a call cannot have are left out on purpose. */
#define FAULT_KINDS(X)                                                                             \
    X(malloc, memory, ENOMEM, 0, 0) /* the whole family */                                         \
    X(mmap, mapping, ENOMEM, 0, 0)                                                                 \
    X(munmap, mapping, 0, 0, 0)                                                                    \
    X(mremap, mapping, ENOMEM, 0, 0)                                                               \
    X(mprotect, mapping, ENOMEM, 0, 0)                                                             \
    X(madvise, mapping, EAGAIN, ENOMEM, 0)                                                         \
    X(process_vm_readv, mapping, EPERM, ENOMEM, 0)                                                 \
    X(shmctl, mapping, EACCES, 0, 0)                                                               \
    X(userfaultfd, mapping, EPERM, EMFILE, ENOMEM)                                                 \
    X(ioctl, mapping, ENOMEM, EAGAIN, 0)                                                           \
    X(kcmp, mapping, EPERM, 0, 0)                                                                  \
    X(prctl, mapping, EINVAL, 0, 0)                                                                \
    X(open, descriptor, EMFILE, ENFILE, 0)                                                         \
    X(fdopendir, descriptor, EMFILE, ENOMEM, 0)                                                    \
    X(fopen, descriptor, EMFILE, ENOMEM, 0)                                                        \
    X(memfd_create, descriptor, EMFILE, ENOMEM, 0)                                                 \
    X(pipe2, descriptor, EMFILE, 0, 0)                                                             \
    X(socket, descriptor, EMFILE, ENOBUFS, 0)                                                      \
    X(dup, descriptor, EMFILE, 0, 0)                                                               \
    X(eventfd, descriptor, EMFILE, 0, 0)                                                           \
    X(signalfd, descriptor, EMFILE, 0, 0)                                                          \
    X(epoll_create, descriptor, EMFILE, ENOMEM, 0)                                                 \
    X(accept, descriptor, EMFILE, ECONNABORTED, EINTR)                                             \
    X(pidfd_open, descriptor, EMFILE, 0, 0)                                                        \
    X(dlopen, descriptor, ENOMEM, 0, 0)                                                            \
    X(connect, message, EAGAIN, ECONNREFUSED, 0)                                                   \
    X(sendmsg, message, EINTR, EAGAIN, ENOBUFS)                                                    \
    X(recvmsg, message, EINTR, EAGAIN, 0)                                                          \
    X(poll, message, EINTR, ENOMEM, 0)                                                             \
    X(setsockopt, message, ENOMEM, 0, 0)                                                           \
    X(getsockopt, message, ENOBUFS, 0, 0)                                                          \
    X(bind, message, ENOMEM, 0, 0)                                                                 \
    X(listen, message, ENOBUFS, 0, 0)                                                              \
    X(epoll_ctl, message, ENOMEM, ENOSPC, 0)                                                       \
    X(epoll_wait, message, EINTR, 0, 0)                                                            \
    X(fcntl, file, ENOMEM, 0, 0) /* but duplication */                                             \
    X(write, file, 0, 0, 0)      /* to what has room; it can wait for another writer, no more */   \
    X(close, file, 0, 0, 0)                                                                        \
    X(read, file, EINTR, EIO, 0)                                                                   \
    X(pwrite, file, ENOSPC, EINTR, 0) /* write() goes to pipes that have room, and cannot fail */  \
    X(ftruncate, file, ENOSPC, 0, 0)                                                               \
    X(fallocate, file, ENOSPC, EINTR, 0)                                                           \
    X(stat, file, ENOMEM, EACCES, 0) /* by a path: fstat() of what is open cannot fail */          \
    X(mkdir, file, ENOSPC, EACCES, 0)                                                              \
    X(unlink, file, EACCES, 0, 0)                                                                  \
    X(readlink, file, ENOMEM, 0, 0)                                                                \
    X(flock, file, EINTR, ENOLCK, 0)                                                               \
    X(pthread_create, thread, EAGAIN, 0, 0)                                                        \
    X(futex, thread, EINTR, EAGAIN, 0) /* waits */                                                 \
    X(sleep, thread, EINTR, 0, 0)                                                                  \
    X(clone, thread, EAGAIN, ENOMEM, 0)                                                            \
    X(wait, thread, EINTR, 0, 0)                                                                   \
    X(execve, thread, ENOENT, ENOMEM, 0)                                                           \
    X(sigtimedwait, thread, EAGAIN, EINTR, 0)                                                      \
    X(set_robust_list, thread, EINVAL, 0, 0)                                                       \
    X(getrandom, thread, EINTR, 0, 0)

enum fault_kind {
#define FAULT_ENUM(name, group, first, second, third) FAULT_##name,
    FAULT_KINDS(FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_KIND_COUNT,
};
_Static_assert(FAULT_KIND_COUNT <= 64, "they are bits of a mask");

enum {
    FAULT_ERRORS = 3,
    FAULT_SLOTS = 3,
    FAULT_FRAMES = 10,
    FAULT_BLOCKS = 1 << 14, /* live allocations that are remembered; a power of two */
    FAULT_FILES = 1 << 14,  /* given to others, that are remembered; a power of two */
    FAULT_CALLS = 4096,     /* calls of one kind whose places are told apart */
};

/** What is told about each kind. */
struct fault_kind_info {
    const char *name;
    const char *group;
    int errors[FAULT_ERRORS]; /* 0: no more */
};

extern const struct fault_kind_info fault_kinds[FAULT_KIND_COUNT];

/** An allocation that was not freed. */
struct fault_block {
    uintptr_t address; /* 0: free entry */
    uintptr_t caller;
};

/** One process. The driver clears it and fills in what to do, the library does the rest. */
struct fault_slot {
    /* what to do */
    _Atomic uint64_t mask;  /* kinds, as bits */
    _Atomic uint32_t n;     /* fail this one of them, counting from 1; 0: none */
    _Atomic uint32_t error; /* index of the error number */
    atomic_bool burst;      /* and all later ones of the same call of the API */
    atomic_bool always;     /* armed all the time: daemons */
    atomic_bool learn;      /* note the place of each call */
    /* Only calls that can wait for somebody else count, and the n-th does not fail: it does not return
     * until `released`. */
    atomic_bool never;
    atomic_bool released;
    _Atomic uint32_t step; /* of the client, which is part of a place if that is wanted */
    /* what happened */
    _Atomic uint32_t matched;
    _Atomic uint32_t fired;
    _Atomic uint32_t counts[FAULT_KIND_COUNT];
    _Atomic int32_t fired_kind;
    uintptr_t frames[FAULT_FRAMES];                 /* of the first that failed */
    uint64_t places[FAULT_KIND_COUNT][FAULT_CALLS]; /* of each call: equal ones are equal */
    /* allocations; cleared when the process starts, else left alone */
    _Atomic int32_t live;
    struct fault_block blocks[FAULT_BLOCKS];
};

/** A file that a daemon has given to a client. */
struct fault_given {
    _Atomic uint64_t file; /* 0: free entry */
    _Atomic int32_t pid;   /* the first who got it */
    atomic_bool others;    /* somebody else has got it, too */
};

struct fault_shared {
    struct fault_slot slots[FAULT_SLOTS];
    struct fault_given given[FAULT_FILES];
};

/* --- in the library, for programs that look these up by dlsym() ------------------------------- */

/** A call of the API begins, or has ended, on this thread. Calls of the kernel and of libc count
 *  in between, and on other threads at any time. */
void faults_arm(void);
void faults_disarm(void);

/** Calls of this thread do not count from now on. */
void faults_exempt(void);

/** This process uses that slot from now on; NULL: none. */
void faults_attach(struct fault_slot *slot);

#endif
