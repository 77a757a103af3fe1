/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Threads of the library's and the daemon's own. */
#pragma once

#include <pthread.h>
#include <stddef.h>

/**
 * Start a thread in which all signals are blocked: signals belong to the program's threads, or to
 * the daemon's event loop.
 * @param thread       receives the thread, which must then be joined. NULL: the thread is detached.
 * @param name         at most 15 characters, for debuggers and /proc.
 * @param stack_bytes  the size of its stack; 0 is the system's default.
 * @return 0, or an error number of pthread_create(3).
 */
int rsm_thread_start(pthread_t *thread, const char *name, size_t stack_bytes, void *(*run)(void *),
                     void *argument);
