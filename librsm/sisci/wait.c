/* SPDX-License-Identifier: BSD-3-Clause */
#include "object.h"

#include <poll.h>
#include <pthread.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "sisci_api.h"

enum {
    SLICE_MS = 100,           /* between two looks whether the thread has been cancelled */
    CONNECT_PAUSE_MIN_MS = 1, /* doubled with each attempt */
    CONNECT_PAUSE_MAX_MS = 100,
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

/* ------------------------------------------------------------------ connects that wait */

struct sisci_connect_limit sisci_connect_limit(unsigned flags, unsigned timeout)
{
    struct sisci_connect_limit limit = {.end = INT64_MIN, .pause_ms = CONNECT_PAUSE_MIN_MS};
    if ((flags & RSM_SCI_FLAG_CONNECT_WAIT) != 0 && timeout != 0)
        limit.end = rsm_deadline(timeout == SCI_INFINITE_TIMEOUT ? -1 : (int64_t)timeout);
    return limit;
}

bool sisci_connect_again(struct sisci_connect_limit *limit, sci_error_t *error)
{
    if (*error != SCI_ERR_NO_SUCH_SEGMENT || limit->end == INT64_MIN)
        return false;
    int left = rsm_deadline_left_ms(limit->end);
    if (left == 0) {
        *error = SCI_ERR_TIMEOUT;
        return false;
    }
    (void)poll(NULL, 0, left > 0 && left < limit->pause_ms ? left : limit->pause_ms);
    if (limit->pause_ms < CONNECT_PAUSE_MAX_MS)
        limit->pause_ms *= 2;
    return true;
}
