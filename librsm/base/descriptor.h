/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Which numbers descriptors get.
 *
 *  Code that runs in the application passes every descriptor that it opens or receives through
 *  rsmcore_fd_place(), and duplicates with rsmcore_fd_place_copy(). The daemon, and the node half
 *  of a transport, use rsmcore_fd_above_stdio() and rsmcore_fd_copy_above_stdio(). All are
 *  thread-safe. */
#pragma once

#include "base/exports.h"

RSMCORE_EXPORTS_BEGIN

/**
 * Move a descriptor of the library to 256 or above, close-on-exec, so that the numbers below stay
 * the application's: for select(2), for standard input and output functions that know no larger
 * ones, and for code that assumes which number comes next. If the soft limit is 256 or less, or
 * all numbers above are taken, the descriptor is merely kept above 2.
 * @param fd  a close-on-exec descriptor, or -1 with errno set, which is passed on.
 * @return the descriptor's new number, or -1 with errno. In both cases @p fd itself is the caller's
 *         no more.
 */
int rsmcore_fd_place(int fd);

/** Duplicate @p fd to a number that rsmcore_fd_place() would choose, close-on-exec; -1 with errno.
 */
int rsmcore_fd_place_copy(int fd);

/**
 * Move a descriptor above 2, close-on-exec, so that it does not become the standard input, output
 * or error of a program that has closed those.
 * @param fd  a close-on-exec descriptor, or -1 with errno set, which is passed on.
 * @return as rsmcore_fd_place().
 */
int rsmcore_fd_above_stdio(int fd);

/** Duplicate @p fd to a number above 2, close-on-exec; -1 with errno. */
int rsmcore_fd_copy_above_stdio(int fd);

RSMCORE_EXPORTS_END
