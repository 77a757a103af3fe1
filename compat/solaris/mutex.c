/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <synch.h>

#define MUTEX_TYPES                                                                                \
    (USYNC_PROCESS | USYNC_PROCESS_ROBUST | LOCK_ERRORCHECK | LOCK_RECURSIVE | LOCK_PRIO_INHERIT | \
     LOCK_PRIO_PROTECT | LOCK_ROBUST)

/* mutex_t.rsm_robust of an initialised robust mutex. */
#define ROBUST_MAGIC 0x726f6275u

static int kind_of(int type)
{
    if ((type & LOCK_RECURSIVE) != 0)
        return PTHREAD_MUTEX_RECURSIVE;
    return (type & LOCK_ERRORCHECK) != 0 ? PTHREAD_MUTEX_ERRORCHECK : PTHREAD_MUTEX_NORMAL;
}

static int set_protocol(pthread_mutexattr_t *attr, int type, const int *ceiling)
{
    int error = 0;
    if ((type & LOCK_PRIO_INHERIT) != 0 && (type & LOCK_PRIO_PROTECT) != 0)
        return EINVAL;
    if ((type & LOCK_PRIO_INHERIT) != 0)
        return pthread_mutexattr_setprotocol(attr, PTHREAD_PRIO_INHERIT);
    if ((type & LOCK_PRIO_PROTECT) == 0)
        return 0;
    if (ceiling == NULL)
        return EINVAL;
    error = pthread_mutexattr_setprotocol(attr, PTHREAD_PRIO_PROTECT);
    return error != 0 ? error : pthread_mutexattr_setprioceiling(attr, *ceiling);
}

static int init_with(mutex_t *mp, pthread_mutexattr_t *attr, int type, const int *ceiling)
{
    bool robust = (type & (USYNC_PROCESS_ROBUST | LOCK_ROBUST)) != 0;
    bool shared = (type & (USYNC_PROCESS | USYNC_PROCESS_ROBUST)) != 0;
    int error = set_protocol(attr, type, ceiling);
    if (error == 0)
        error = pthread_mutexattr_settype(attr, kind_of(type));
    if (error == 0 && shared)
        error = pthread_mutexattr_setpshared(attr, PTHREAD_PROCESS_SHARED);
    if (error == 0 && robust)
        error = pthread_mutexattr_setrobust(attr, PTHREAD_MUTEX_ROBUST);
    if (error == 0)
        error = pthread_mutex_init(&mp->rsm_mutex, attr);
    if (error == 0)
        mp->rsm_robust = robust ? ROBUST_MAGIC : 0;
    return error;
}

int mutex_init(mutex_t *mp, int type, void *arg)
{
    pthread_mutexattr_t attr;
    if ((type & ~MUTEX_TYPES) != 0)
        return EINVAL;
    if ((type & (USYNC_PROCESS_ROBUST | LOCK_ROBUST)) != 0 && mp->rsm_robust == ROBUST_MAGIC)
        return mutex_consistent(mp) == 0 ? 0 : EBUSY;
    int error = pthread_mutexattr_init(&attr);
    if (error != 0)
        return error;
    error = init_with(mp, &attr, type, arg);
    pthread_mutexattr_destroy(&attr);
    return error;
}

/* Zeroed, so that it can be initialised again even if it was robust. */
int mutex_destroy(mutex_t *mp)
{
    int error = pthread_mutex_destroy(&mp->rsm_mutex);
    if (error == 0)
        memset(mp, 0, sizeof(*mp));
    return error;
}

int mutex_lock(mutex_t *mp)
{
    return pthread_mutex_lock(&mp->rsm_mutex);
}

int mutex_trylock(mutex_t *mp)
{
    return pthread_mutex_trylock(&mp->rsm_mutex);
}

int mutex_unlock(mutex_t *mp)
{
    return pthread_mutex_unlock(&mp->rsm_mutex);
}

int mutex_consistent(mutex_t *mp)
{
    return pthread_mutex_consistent(&mp->rsm_mutex);
}
