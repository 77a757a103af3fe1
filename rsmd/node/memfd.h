/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Memory files that rsmd shares with its clients. */
#ifndef RSMD_MEMFD_H
#define RSMD_MEMFD_H

#include <stddef.h>
#include <sys/types.h>

/** A memfd of @p size zero bytes and @p mode, close-on-exec, above stdio, not yet sealed. -1 with
 *  errno. */
int rsmd_memfd_make(const char *name, size_t size, mode_t mode);

/** A new open file description of what @p fd refers to, opened with @p flags (O_RDONLY ...). Never
 *  blocks. -1 with errno. */
int rsmd_fd_reopen(int fd, int flags);

/** Why one of these has failed with @p error, in words that say what the host lacks, such as
 *  /proc. */
const char *rsmd_memfd_trouble(int error);

#endif
