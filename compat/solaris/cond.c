/* SPDX-License-Identifier: BSD-3-Clause */
#include <synch.h>

#include "sync_rules.h"

int cond_init(cond_t *cvp, int type, void *arg)
{
    (void)arg;
    pthread_condattr_t attr;
    int shared;
    int error = rsm_solaris_sharing(type, &shared);
    if (error != 0)
        return error;
    error = pthread_condattr_init(&attr);
    if (error != 0)
        return error;
    error = pthread_condattr_setpshared(&attr, shared);
    if (error == 0)
        error = pthread_cond_init(&cvp->rsm_cond, &attr);
    pthread_condattr_destroy(&attr);
    return error;
}

int cond_destroy(cond_t *cvp)
{
    return pthread_cond_destroy(&cvp->rsm_cond);
}

int cond_wait(cond_t *cvp, mutex_t *mp)
{
    return pthread_cond_wait(&cvp->rsm_cond, &mp->rsm_mutex);
}

int cond_timedwait(cond_t *cvp, mutex_t *mp, const timestruc_t *until)
{
    int error = rsm_solaris_check_time(until);
    if (error != 0)
        return error;
    return rsm_solaris_timed(pthread_cond_timedwait(&cvp->rsm_cond, &mp->rsm_mutex, until));
}

int cond_reltimedwait(cond_t *cvp, mutex_t *mp, const timestruc_t *time_limit)
{
    int error = rsm_solaris_check_time(time_limit);
    if (error != 0)
        return error;
    struct timespec deadline = rsm_solaris_deadline(time_limit);
    return rsm_solaris_timed(
        pthread_cond_clockwait(&cvp->rsm_cond, &mp->rsm_mutex, CLOCK_MONOTONIC, &deadline));
}

int cond_signal(cond_t *cvp)
{
    return pthread_cond_signal(&cvp->rsm_cond);
}

int cond_broadcast(cond_t *cvp)
{
    return pthread_cond_broadcast(&cvp->rsm_cond);
}
