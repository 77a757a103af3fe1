/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A mutex that a signal handler may take: no thread that holds one can be interrupted,
 *  because every holder has all signals blocked, and none touches memory that could fault. */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/cancel.h"

/** 0: free, 1: held, 2: held and perhaps waited for. Zeroed memory is a free lock. */
struct mapping_lock {
    _Atomic uint32_t word;
};

/** From a signal handler that runs with everything blocked, or between block and unblock. */
void mapping_lock(struct mapping_lock *lock);
void mapping_unlock(struct mapping_lock *lock);

/** What a thread had before it was left alone. */
struct mapping_mask {
    sigset_t signals;
    int cancel;
};

/** Block all signals, and the cancellation of the thread, whose signal the C library does not let
 *  be blocked; *before gets what was before. */
static inline void mapping_block(struct mapping_mask *before)
{
    sigset_t all;
    sigfillset(&all);
    before->cancel = rsm_cancel_disable();
    (void)pthread_sigmask(SIG_SETMASK, &all, &before->signals);
}

static inline void mapping_unblock(const struct mapping_mask *before)
{
    (void)pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
    rsm_cancel_enable(before->cancel);
}
