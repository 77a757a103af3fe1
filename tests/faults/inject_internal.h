/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Inside the preloaded library: the decision, for the wrapped functions. */
#ifndef TESTS_FAULTS_INJECT_INTERNAL_H
#define TESTS_FAULTS_INJECT_INTERNAL_H

#include <sys/socket.h>

#include "inject.h"

/** Count a call; true: it fails, and errno says how. */
bool faults_fail(enum fault_kind kind);

/** The same for one that, with these arguments, @p waits for somebody else: perhaps for ever. */
bool faults_fail_or_wait(enum fault_kind kind, bool waits);

/** For one that cannot fail. */
void faults_wait(enum fault_kind kind, bool waits);

/** Remember the files whose descriptors go with a message over a socket: other processes have them
 *  from then on, and can hold whatever lock the kernel takes for a call on one. (shared.c) */
void faults_pass(int socket, const struct msghdr *message);
/** The block of all slots; NULL: this process has none. */
struct fault_shared *faults_all(void);
/** Whether somebody else has that file, or has had it: of a client, another one than its daemon, which
 *  has whatever it gives. */
bool faults_is_shared(int fd);
/** Whether a path is that of an open descriptor, of a file that is shared. */
bool faults_opens_shared(const char *path);
/** Whether a call on that socket waits without a bound: @p timeout is the option that bounds it. */
bool faults_socket_waits(int fd, int flags, int timeout);
/** Whether this is the thread that a daemon's clients all wait for. */
bool faults_is_loop(void);

/** Whether this thread's calls count now. */
bool faults_counting(void);

/** Remember or forget an allocation. */
void faults_block_made(const void *block, const void *caller);
void faults_block_gone(const void *block);

/** The function that a wrapper hides. */
void *faults_real(const char *name);

/** Look the hidden function up once: `real` becomes a pointer to it. */
#define REAL(name)                                                                                 \
    static __typeof__(&name) real;                                                                 \
    if (real == NULL)                                                                              \
        *(void **)(void *)&real = faults_real(#name);

#endif
