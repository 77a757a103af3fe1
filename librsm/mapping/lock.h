/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A mutex that a signal handler may take: no thread that holds one can be interrupted,
 *  because every holder has all signals blocked, and none touches memory that could fault. */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

/** 0: free, 1: held, 2: held and perhaps waited for. Zeroed memory is a free lock. */
struct mapping_lock {
    _Atomic uint32_t word;
};

/** From a signal handler that runs with everything blocked, or between block and unblock. */
void mapping_lock(struct mapping_lock *lock);
void mapping_unlock(struct mapping_lock *lock);

/** Block all signals; *before gets what the mask was. */
static inline void mapping_block(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, before);
}

static inline void mapping_unblock(const sigset_t *before)
{
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}
