/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/ntb/import/barrier.h"

#include "base/fence.h"

void ntb_barrier_begin(struct ntb_barrier *barrier, const struct ntb_status *status,
                       const uint64_t *canary)
{
    barrier->status = status;
    barrier->canary = canary;
    barrier->expected = status != NULL ? ntb_load64(&status->canary) : 0;
    barrier->epoch = status != NULL ? ntb_load32(&status->import_epoch) : 0;
    atomic_init(&barrier->errors, status != NULL ? ntb_load32(&status->err_seq) : 0);
    atomic_init(&barrier->dead, false);
}

/* Whether errors have been counted that no barrier has reported; each is reported once. */
static bool take_errors(struct ntb_barrier *barrier)
{
    uint32_t now = ntb_load32(&barrier->status->err_seq);
    if (atomic_load_explicit(&barrier->errors, memory_order_relaxed) == now)
        return false; /* nearly always: no locked exchange */
    return atomic_exchange_explicit(&barrier->errors, now, memory_order_acq_rel) != now;
}

enum rsm_status ntb_barrier_close(struct ntb_barrier *barrier)
{
    rsm_fence_stores();
    if (barrier->status == NULL) {
        rsm_fence_full();
        return RSM_ST_OK;
    }
    uint64_t found = ntb_load64(barrier->canary);
    rsm_fence_loads();
    if (!ntb_barrier_alive(barrier))
        return RSM_ST_ABORTED;
    /* All ones is what a link gives that does not answer. If that lasts the session ends, and the
     * status page tells; any other value is that of another session. */
    if (found == UINT64_MAX) {
        (void)take_errors(barrier);
        return RSM_ST_TRANSFER;
    }
    if (found != barrier->expected) {
        atomic_store(&barrier->dead, true);
        return RSM_ST_ABORTED;
    }
    return take_errors(barrier) ? RSM_ST_TRANSFER : RSM_ST_OK;
}
