/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Whether what was stored through a window has arrived. A read of the canary pushes all
 *  earlier stores in front of it to the other host; what it reads says whether that host still is
 *  what it was, and the status page what this host knows of the link. See struct ntb_status. */
#pragma once

#include <stdatomic.h>

#include "rsm/transport.h"
#include "transport/ntb/common/status.h"

struct ntb_barrier {
    const struct ntb_status *status; /**< NULL: memory of this host, which does not fail */
    const uint64_t *canary;
    uint64_t expected; /**< of the canary */
    uint32_t epoch;    /**< of the import */
    uint32_t errors;   /**< of the status page, when the import began */
    atomic_bool dead;  /**< for good */
};

void ntb_barrier_begin(struct ntb_barrier *barrier, const struct ntb_status *status,
                       const uint64_t *canary);

/** Whether the import still reaches its memory, as far as this host knows; no access to the other
 *  host. Once false it stays false. */
static inline bool ntb_barrier_alive(const struct ntb_barrier *barrier)
{
    return barrier->status == NULL ||
           (!atomic_load_explicit(&barrier->dead, memory_order_relaxed) &&
            ntb_load32(&barrier->status->epoch) == barrier->epoch &&
            ntb_load32(&barrier->status->revoked) == 0);
}

/**
 * Close: all earlier accesses have happened, or have not. The errors that the link has counted
 * since the import began become the failures of @p conn.
 * @return RSM_ST_OK; RSM_ST_TRANSFER: the link does not answer, and the session is still the same:
 *         repeating the stores may repair it; RSM_ST_ABORTED: the import has ended, and
 *         ntb_barrier_alive() says so from now on.
 */
enum rsm_status ntb_barrier_close(struct ntb_barrier *barrier, struct rsm_conn *conn);
