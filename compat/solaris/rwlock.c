/* SPDX-License-Identifier: BSD-3-Clause */
#include <synch.h>

#include "sync_rules.h"

int rwlock_init(rwlock_t *rwlp, int type, void *arg)
{
    (void)arg;
    pthread_rwlockattr_t attr;
    int shared;
    int error = rsm_solaris_sharing(type, &shared);
    if (error != 0)
        return error;
    error = pthread_rwlockattr_init(&attr);
    if (error != 0)
        return error;
    error = pthread_rwlockattr_setpshared(&attr, shared);
    if (error == 0)
        error = pthread_rwlock_init(&rwlp->rsm_rwlock, &attr);
    pthread_rwlockattr_destroy(&attr);
    return error;
}

int rwlock_destroy(rwlock_t *rwlp)
{
    return pthread_rwlock_destroy(&rwlp->rsm_rwlock);
}

int rw_rdlock(rwlock_t *rwlp)
{
    return pthread_rwlock_rdlock(&rwlp->rsm_rwlock);
}

int rw_wrlock(rwlock_t *rwlp)
{
    return pthread_rwlock_wrlock(&rwlp->rsm_rwlock);
}

int rw_tryrdlock(rwlock_t *rwlp)
{
    return pthread_rwlock_tryrdlock(&rwlp->rsm_rwlock);
}

int rw_trywrlock(rwlock_t *rwlp)
{
    return pthread_rwlock_trywrlock(&rwlp->rsm_rwlock);
}

int rw_unlock(rwlock_t *rwlp)
{
    return pthread_rwlock_unlock(&rwlp->rsm_rwlock);
}
