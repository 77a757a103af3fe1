/* SPDX-License-Identifier: BSD-3-Clause */
#include "region/region_lock.h"

#include <pthread.h>

#include "base/fork.h"

/* Held over an operation, requests included, so fork(2) does not take it. Taken before
 * the registry's lock. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
/* The daemon that has not answered a request of the operation that has the turn; NULL: each did. */
static const struct rsmcore_control *silent;
/* The thread that has the turn is the parent's. */
static void after_fork_in_child(void)
{
    rsmcore_region_forget_all();
    turn = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

/* Its lock is held while pages and registry change. */
RSMCORE_FORK_PART(registry, RSMCORE_FORK_REGIONS, after_fork_in_child);

void rsmcore_region_lock(void)
{
    pthread_mutex_lock(&turn);
    rsmcore_fork_lock(&registry);
    silent = NULL;
}

void rsmcore_region_unlock(void)
{
    rsmcore_fork_unlock(&registry);
    pthread_mutex_unlock(&turn);
}

enum rsm_status rsmcore_region_call(struct rsmcore_control *control, struct rsm_msg *msg,
                                    struct rsm_packet_fds *receive)
{
    /* As if it had been waited for in vain: the daemon carries it out when it comes to that. */
    if (control == silent) {
        if (receive != NULL)
            receive->count = 0;
        rsmcore_control_try_post(control, msg);
        return RSM_ST_TIMEOUT;
    }
    rsmcore_fork_unlock(&registry);
    enum rsm_status status = rsmcore_control_call(control, msg, receive);
    rsmcore_fork_lock(&registry);
    if (status == RSM_ST_TIMEOUT)
        silent = control;
    return status;
}
