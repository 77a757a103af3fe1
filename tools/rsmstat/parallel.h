/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Call a function for several things at the same time, in threads. */
#pragma once

#include <stddef.h>

enum { PARALLEL_MAX = 32 };

/** Call act(context, 0) to act(context, count - 1), by as many threads as there can be, @p threads
 *  and PARALLEL_MAX at most, and return when all are done. */
void parallel_each(size_t count, unsigned threads, void (*act)(void *context, size_t i),
                   void *context);
