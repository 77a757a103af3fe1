/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Barriers: whether everything that was transferred since some moment has arrived.
 *
 *  A connection counts the transfers that failed, those that failed after their calls had returned
 *  included, and the count only grows. A barrier remembers the count when it is opened and compares
 *  when it is closed, so every barrier that was open reports a failure, and no barrier that is
 *  opened later does. Barriers take no memory and no lock; any number of threads may have any
 *  number of them open on one connection. */
#pragma once

#include "base/fence.h"
#include "core/import.h"

/** An open barrier: the number of failures that the connection had counted when it was opened. It
 *  may be copied, and forgotten without being closed. */
struct rsmcore_barrier {
    uint32_t failures;
};

/** Open a barrier for transfers by calls alone: loads from mappings see what they have seen. */
static inline struct rsmcore_barrier
rsmcore_barrier_open_for_calls(const struct rsmcore_import *import)
{
    return (struct rsmcore_barrier){.failures = rsmcore_import_failures(import)};
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

/** The rest of rsmcore_barrier_close(): @p status is that of completing. */
static inline enum rsm_status rsmcore_barrier_compare(struct rsmcore_import *import,
                                                      struct rsmcore_barrier barrier,
                                                      enum rsm_status status)
{
    if (__builtin_expect(status == RSM_ST_OK, 1) &&
        __builtin_expect(rsmcore_import_failures(import) == barrier.failures, 1))
        return RSM_ST_OK;
    atomic_store(&import->failures_reported, rsm_conn_failures(import->inner));
    return status == RSM_ST_OK ? RSM_ST_TRANSFER : status;
}

/**
 * Complete all transfers of the connection and report whether any has failed since the barrier was
 * opened. The barrier stays open: a later close reports on the same span and what followed it.
 * @return RSM_ST_OK; RSM_ST_ABORTED: the connection was cut, for good; RSM_ST_TRANSFER, or what the
 *         transport says of this completion: not everything has arrived, but the connection still
 *         exists and repeated transfers may arrive (a retriable error).
 */
static inline enum rsm_status rsmcore_barrier_close(struct rsmcore_import *import,
                                                    struct rsmcore_barrier barrier)
{
    return rsmcore_barrier_compare(import, barrier, rsmcore_import_complete(import));
}
