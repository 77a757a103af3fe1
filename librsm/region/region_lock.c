/* SPDX-License-Identifier: BSD-3-Clause */
#include "region/region_lock.h"

#include <pthread.h>

#include "pageswap/pageswap.h"

/* Held over an operation, requests included, so fork(2) does not take it. Taken before
 * registry_lock. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
/* The daemon that has not answered a request of the operation that has the turn; NULL: each did. */
static const struct rsmcore_control *silent;
/* Held while pages and registry change, and over fork(2). */
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void lock_before_fork(void)
{
    pthread_mutex_lock(&registry_lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&registry_lock);
}

/* Whoever has the turn is a thread of the parent. */
static void after_fork_in_child(void)
{
    rsmcore_region_forget_all();
    turn = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_unlock(&registry_lock);
}

static void watch_fork(void)
{
    rsmcore_swap_watch_fork();
    pthread_atfork(lock_before_fork, unlock_after_fork, after_fork_in_child);
}

void rsmcore_region_lock(void)
{
    pthread_once(&fork_once, watch_fork);
    pthread_mutex_lock(&turn);
    pthread_mutex_lock(&registry_lock);
    silent = NULL;
}

void rsmcore_region_unlock(void)
{
    pthread_mutex_unlock(&registry_lock);
    pthread_mutex_unlock(&turn);
}

enum rsm_status rsmcore_region_call(struct rsmcore_control *link, struct rsm_msg *msg,
                                    struct rsm_packet_fds *receive)
{
    /* As if it had been waited for in vain: the daemon carries it out when it comes to that. */
    if (link == silent) {
        if (receive != NULL)
            receive->count = 0;
        rsmcore_control_try_post(link, msg);
        return RSM_ST_TIMEOUT;
    }
    pthread_mutex_unlock(&registry_lock);
    enum rsm_status status = rsmcore_control_call(link, msg, receive);
    pthread_mutex_lock(&registry_lock);
    if (status == RSM_ST_TIMEOUT)
        silent = link;
    return status;
}
