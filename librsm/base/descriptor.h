/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Where the library and the daemon put the descriptors that they open. */
#ifndef RSM_BASE_DESCRIPTOR_H
#define RSM_BASE_DESCRIPTOR_H

#include "base/exports.h"

RSMCORE_EXPORTS_BEGIN

/**
 * Move a descriptor above 2, close-on-exec, so that nobody takes it for the standard input, output
 * or error of a program that closed those. Thread-safe.
 * @param fd  a descriptor, or -1 with errno set, which is passed on.
 * @return the descriptor's new number, or -1 with errno. In both cases @p fd itself is the caller's
 *         no more.
 */
int rsm_fd_above_stdio(int fd);

RSMCORE_EXPORTS_END

#endif
