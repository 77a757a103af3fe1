/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Barriers: whether everything that was transferred since some moment has arrived.
 *
 * A transport reports each failed transfer once, to whichever thread asks first. The connection
 * counts what was reported, and a barrier that closes reports whether anything was counted since it
 * was opened, whoever was told. A thread that has been told may not have counted yet (reports.h): a
 * close waits for it. Barriers take no memory and no lock; any number of threads may have any number
 * of them open on one connection.
 */
#ifndef RSMCORE_BARRIER_H
#define RSMCORE_BARRIER_H

#include "base/fence.h"
#include "core/import.h"

/** An open barrier: the number of failures that the connection had reported when it was opened. It
 *  may be copied, and forgotten without being closed. */
struct rsmcore_barrier {
    uint32_t failures;
};

/** Open a barrier for transfers by calls alone: loads from mappings see what they have seen. */
static inline struct rsmcore_barrier
rsmcore_barrier_open_for_calls(const struct rsmcore_import *import)
{
    return (struct rsmcore_barrier){
        .failures = atomic_load_explicit(&import->failures, memory_order_acquire)};
}

/** Open a barrier. Loads from mappings of the connection see from now on what the segment has at
 *  this moment or later, and come after all that the caller has loaded before: who found a flag set
 *  finds what was stored in front of it. */
static inline struct rsmcore_barrier rsmcore_barrier_open(struct rsmcore_import *import)
{
    rsmcore_import_acquire(import);
    rsm_fence_acquire();
    return rsmcore_barrier_open_for_calls(import);
}

/**
 * Complete all transfers of the connection and tell whether any has failed since the barrier was
 * opened. The barrier stays open: a later close answers for the same and all that has happened
 * since.
 * @return RSM_ST_OK; RSM_ST_ABORTED: the connection was cut, for good; RSM_ST_TRANSFER, or what the
 *         transport says of this completion: not everything has arrived, but the connection is still
 *         there, and who repeats the transfers may find that they arrive (a retriable error).
 */
static inline enum rsm_status rsmcore_barrier_close(struct rsmcore_import *import,
                                                    struct rsmcore_barrier barrier)
{
    if (__builtin_expect(import->fails_late, 0))
        return rsmcore_import_complete_since(import, barrier.failures);
    enum rsm_status status = rsmcore_import_complete_direct(import);
    if (status != RSM_ST_OK)
        return status;
    bool same = atomic_load_explicit(&import->failures, memory_order_acquire) == barrier.failures;
    return same ? RSM_ST_OK : RSM_ST_TRANSFER;
}

#endif
