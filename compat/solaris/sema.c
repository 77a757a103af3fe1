/* SPDX-License-Identifier: BSD-3-Clause */
#include <synch.h>

#include "sync_rules.h"

/* The POSIX functions report by errno, which these functions do not change. */
static int result(int outcome, int saved_errno)
{
    int error = outcome == 0 ? 0 : errno;
    errno = saved_errno;
    return error;
}

int sema_init(sema_t *sp, unsigned int count, int type, void *arg)
{
    (void)arg;
    int saved = errno;
    int shared;
    int error = rsm_solaris_sharing(type, &shared);
    if (error != 0)
        return error;
    return result(sem_init(&sp->rsm_sem, shared == PTHREAD_PROCESS_SHARED, count), saved);
}

int sema_destroy(sema_t *sp)
{
    int saved = errno;
    return result(sem_destroy(&sp->rsm_sem), saved);
}

int sema_wait(sema_t *sp)
{
    int saved = errno;
    return result(sem_wait(&sp->rsm_sem), saved);
}

int sema_trywait(sema_t *sp)
{
    int saved = errno;
    int error = result(sem_trywait(&sp->rsm_sem), saved);
    return error == EAGAIN ? EBUSY : error;
}

int sema_timedwait(sema_t *sp, const timestruc_t *until)
{
    int saved = errno;
    int error = rsm_solaris_check_time(until);
    if (error != 0)
        return error;
    return rsm_solaris_timed(result(sem_timedwait(&sp->rsm_sem, until), saved));
}

/* ThreadSanitizer knows the other functions, but not sem_clockwait(). */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
void __tsan_acquire(void *address);
#define SEMAPHORE_TAKEN(sem) __tsan_acquire(sem)
#else
#define SEMAPHORE_TAKEN(sem) ((void)(sem))
#endif

int sema_reltimedwait(sema_t *sp, const timestruc_t *time_limit)
{
    int saved = errno;
    int error = rsm_solaris_check_time(time_limit);
    if (error != 0)
        return error;
    struct timespec deadline = rsm_solaris_deadline(time_limit);
    int outcome = sem_clockwait(&sp->rsm_sem, CLOCK_MONOTONIC, &deadline);
    if (outcome == 0)
        SEMAPHORE_TAKEN(&sp->rsm_sem);
    return rsm_solaris_timed(result(outcome, saved));
}

int sema_post(sema_t *sp)
{
    int saved = errno;
    return result(sem_post(&sp->rsm_sem), saved);
}
