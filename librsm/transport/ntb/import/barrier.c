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
    barrier->errors = status != NULL ? ntb_load32(&status->err_seq) : 0;
    atomic_init(&barrier->dead, false);
}

/* Several threads may come with different counts: the greatest stays. */
static void count_errors(const struct ntb_barrier *barrier, struct rsm_conn *conn)
{
    uint32_t now = ntb_load32(&barrier->status->err_seq) - barrier->errors;
    uint32_t known = rsm_conn_failures(conn);
    while ((int32_t)(now - known) > 0 &&
           !__atomic_compare_exchange_n(&conn->failures, &known, now, false, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE))
        continue;
}

enum rsm_status ntb_barrier_close(struct ntb_barrier *barrier, struct rsm_conn *conn)
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
    count_errors(barrier, conn);
    /* A link that does not answer reads as all ones. If that lasts the session ends, and the status
     * page shows it. Any other value is that of another session. */
    if (found == UINT64_MAX)
        return RSM_ST_TRANSFER;
    if (found != barrier->expected) {
        atomic_store(&barrier->dead, true);
        return RSM_ST_ABORTED;
    }
    return RSM_ST_OK;
}
