/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Memory files that rsmd shares with its clients. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/** Make a memfd of @p size zero bytes and @p mode, close-on-exec, above stdio, not sealed. -1 with
 *  errno on failure. */
int rsmd_memfd_make(const char *name, size_t size, mode_t mode);

/** Open the file of @p fd again, with @p flags (O_RDONLY ...). Never blocks. -1 with errno on
 *  failure. */
int rsmd_fd_reopen(int fd, int flags);

/** The text of @p error of one of these functions. It names what the host lacks, such as /proc. */
const char *rsmd_memfd_trouble(int error);
