/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Threads that a program cancels while they are in the library (pthread_cancel(3)).
 *
 *  A thread that ends in the middle of a function leaves locks taken and resources held for ever.
 *  The rule: wherever the library holds anything, the thread cannot be cancelled. A function of the
 *  API says at its beginning which of these it does:
 *
 *  - RSM_UNCANCELLABLE: no thread is cancelled in it. What a request waited for meanwhile ends the
 *    thread when the function returns (asynchronous cancellation), or at the thread's next
 *    cancellation point.
 *  - RSM_CANCEL_DEFERRED: no thread is cancelled in it but at a cancellation point. It is for
 *    functions that have none, or none while they hold anything, and costs a nanosecond or two. A
 *    thread that has asked for asynchronous cancellation pays a system call.
 *
 *  Both are declarations, and last until the end of the block. */
#pragma once

#include <poll.h>
#include <pthread.h>
#include <stddef.h>

/* Cancellation at cancellation points alone, until rsm_cancel_undefer(). glibc cancels a thread of
 * the asynchronous type by a signal, whose handler looks at the type alone, and the type is
 * asynchronous in system calls that are cancellation points, whatever the thread has chosen. A
 * signal that is on its way now would therefore end the thread later, in such a call. So the thread
 * makes one while it holds nothing: glibc does not return from it before the signal has come. */
static inline int rsm_cancel_defer(void)
{
    int type;
    (void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    if (__builtin_expect(type != PTHREAD_CANCEL_DEFERRED, 0))
        (void)poll(NULL, 0, 0);
    return type;
}

static inline void rsm_cancel_undefer(const int *type)
{
    if (__builtin_expect(*type != PTHREAD_CANCEL_DEFERRED, 0))
        (void)pthread_setcanceltype(*type, NULL);
}

/* No cancellation, until rsm_cancel_enable(). */
static inline int rsm_cancel_disable(void)
{
    int type = rsm_cancel_defer(), state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state | type << 1;
}

static inline void rsm_cancel_enable(int before)
{
    int type = before >> 1;
    (void)pthread_setcancelstate(before & 1, NULL);
    rsm_cancel_undefer(&type);
}

static inline void rsm_cancel_restore(const int *before)
{
    rsm_cancel_enable(*before);
}

_Static_assert((PTHREAD_CANCEL_ENABLE | PTHREAD_CANCEL_DISABLE | PTHREAD_CANCEL_DEFERRED |
                PTHREAD_CANCEL_ASYNCHRONOUS) == 1,
               "a state and a type are a bit each");

#define RSM_UNCANCELLABLE                                                                          \
    __attribute__((unused, cleanup(rsm_cancel_restore))) const int rsm_cancel_state_ =             \
        rsm_cancel_disable()
#define RSM_CANCEL_DEFERRED                                                                        \
    __attribute__((unused, cleanup(rsm_cancel_undefer))) const int rsm_cancel_type_ =              \
        rsm_cancel_defer()
