/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A helper of rsmd, from inside: what its main() does before it serves. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { RSM_HELPER_CONTROL = 3 /**< the descriptor of the socket to rsmd */ };

/**
 * Begin: the log goes to standard error, which is that of rsmd, behind @p name; the soft limit of
 * descriptors becomes the hard one.
 * @param when  "... if rsm.conf has auth = tls": for who starts the program by hand.
 * @return false: rsmd has not started this process; a line says so.
 */
bool rsm_helper_begin(const char *name, const char *when);

/**
 * Give up what a mistake in serving could be used for, before the first byte of a stranger
 * arrives: the user root, new privileges, core files, memory that is executed, and all system calls
 * but @p calls and those of an event loop on sockets, of the C library's allocator and of an end.
 * Others fail with EPERM. Nothing can be opened any more.
 *
 * The user becomes @p user; if there is none, a user that owns nothing. A process that has not the
 * privilege to change its user keeps it. System calls are not restricted in builds with sanitizers,
 * on processors that the filter does not know, and by kernels without filters.
 * @param calls  at most RSM_HELPER_CALLS_MAX numbers (SYS_*).
 * @return false: that failed, and a line in the log says why.
 */
bool rsm_helper_enter_sandbox(const char *user, const int *calls, size_t count);

enum { RSM_HELPER_CALLS_MAX = 16 };
