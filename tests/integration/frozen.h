/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Processes that hold the locks of files for ever, as any unprivileged user can: they write to a file, or
 * receive from a socket, with a buffer in a page of a FUSE file whose server never answers. Whoever takes
 * the same lock then sleeps uninterruptibly, and no signal helps. All of it ends when the server does.
 */
#ifndef TESTS_INTEGRATION_FROZEN_H
#define TESTS_INTEGRATION_FROZEN_H

#include <stdbool.h>
#include <sys/types.h>

enum { FROZEN_MAX = 16 };

/** In the test process, which is root: make what unprivileged users need, for this process and those that it
 *  starts. NULL, or why it is not possible here. */
const char *frozen_prepare(void);

/** In an actor: let one process for each descriptor hold its lock. A regular file's is its inode's; to a
 *  pipe, or a socket that can be written, is written; else it is received from. @return a process to be
 *  given to frozen_end(), which any other process of the test may call; -1: it could not be done. */
pid_t frozen_begin(const int *fds, unsigned count);

/** In any process: whether a write to this regular file waits at least 300 ms. The process that tries it is
 *  left for frozen_end(), as one of the group @p frozen. */
bool frozen_holds(pid_t frozen, int fd);

void frozen_end(pid_t frozen);

/** The state of a process, as /proc has it: 'D' is an uninterruptible sleep. */
char process_state(pid_t pid);

#endif
