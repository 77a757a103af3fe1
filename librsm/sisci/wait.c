/* SPDX-License-Identifier: BSD-3-Clause */
#include "object.h"

#include <pthread.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "sisci_api.h"

enum {
    SLICE_MS = 100, /* between two looks whether the thread has been cancelled */
};

/* The core has cancellation points where it holds locks. */
static enum rsm_status attempt_undisturbed(sisci_attempt attempt, void *argument, int timeout_ms)
{
    RSM_UNCANCELLABLE;
    return attempt(argument, timeout_ms);
}

static int slice_until(int64_t end)
{
    int left = rsm_deadline_left_ms(end);
    return left >= 0 && left < SLICE_MS ? left : SLICE_MS;
}

static enum rsm_status wait_in_slices(unsigned timeout, sisci_attempt attempt, void *argument)
{
    int64_t end = rsm_deadline(timeout == SCI_INFINITE_TIMEOUT ? -1 : (int64_t)timeout);
    for (;;) {
        pthread_testcancel();
        int slice = timeout == 0 ? 0 : slice_until(end);
        enum rsm_status status = attempt_undisturbed(attempt, argument, slice);
        if (status != RSM_ST_TIMEOUT && status != RSM_ST_INTERRUPTED)
            return status;
        if (slice == 0)
            return RSM_ST_TIMEOUT;
    }
}

static void drop(void *held)
{
    sisci_drop(held);
}

enum rsm_status sisci_wait(struct sisci_object *held, unsigned timeout, sisci_attempt attempt,
                           void *argument)
{
    enum rsm_status status;
    pthread_cleanup_push(drop, held);
    status = wait_in_slices(timeout, attempt, argument);
    pthread_cleanup_pop(0);
    return status;
}
