/* SPDX-License-Identifier: BSD-3-Clause */
/* <synch.h>: mutexes, condition variables, locks for readers and writers, semaphores */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <synch.h>
#include <sys/time.h>
#include <time.h>

/* A function that is one of POSIX under another name. */
#define SAME_AS(posix, name, type, member)                                                         \
    int name(type *object)                                                                         \
    {                                                                                              \
        return posix(&object->member);                                                             \
    }

/* Solaris's number where POSIX says that the time is over. */
static int timed(int error)
{
    return error == ETIMEDOUT ? ETIME : error;
}

/* Is that a point or length of time? */
static int check_time(const struct timespec *time)
{
    return time == NULL || time->tv_sec < 0 || time->tv_nsec < 0 || time->tv_nsec >= NANOSEC
               ? EINVAL
               : 0;
}

/* The point of CLOCK_MONOTONIC that is limit from now; the last one where there is none. */
static struct timespec deadline_in(const struct timespec *limit)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_nsec += limit->tv_nsec;
    if (deadline.tv_nsec >= NANOSEC) {
        deadline.tv_nsec -= NANOSEC;
        deadline.tv_sec++;
    }
    if (__builtin_add_overflow(deadline.tv_sec, limit->tv_sec, &deadline.tv_sec))
        deadline.tv_sec = sizeof(time_t) == 8 ? (time_t)INT64_MAX : (time_t)INT32_MAX;
    return deadline;
}

/* PTHREAD_PROCESS_ value of a type that is USYNC_THREAD or USYNC_PROCESS in *shared; EINVAL. */
static int sharing(int type, int *shared)
{
    if (type != USYNC_THREAD && type != USYNC_PROCESS)
        return EINVAL;
    *shared = type == USYNC_PROCESS ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
    return 0;
}

/* A function that makes an object for the threads of one process or of several. */
#define INIT(posix, name, type, member)                                                            \
    int name(type *object, int kind, void *arg)                                                    \
    {                                                                                              \
        (void)arg;                                                                                 \
        posix##attr_t attr;                                                                        \
        int shared;                                                                                \
        int error = sharing(kind, &shared);                                                        \
        if (error != 0)                                                                            \
            return error;                                                                          \
        error = posix##attr_init(&attr);                                                           \
        if (error != 0)                                                                            \
            return error;                                                                          \
        error = posix##attr_setpshared(&attr, shared);                                             \
        if (error == 0)                                                                            \
            error = posix##_init(&object->member, &attr);                                          \
        posix##attr_destroy(&attr);                                                                \
        return error;                                                                              \
    }

INIT(pthread_cond, cond_init, cond_t, rsm_cond)
SAME_AS(pthread_cond_destroy, cond_destroy, cond_t, rsm_cond)
SAME_AS(pthread_cond_signal, cond_signal, cond_t, rsm_cond)
SAME_AS(pthread_cond_broadcast, cond_broadcast, cond_t, rsm_cond)

int cond_wait(cond_t *cvp, mutex_t *mp)
{
    return pthread_cond_wait(&cvp->rsm_cond, &mp->rsm_mutex);
}

int cond_timedwait(cond_t *cvp, mutex_t *mp, const timestruc_t *until)
{
    int error = check_time(until);
    if (error != 0)
        return error;
    return timed(pthread_cond_timedwait(&cvp->rsm_cond, &mp->rsm_mutex, until));
}

int cond_reltimedwait(cond_t *cvp, mutex_t *mp, const timestruc_t *time_limit)
{
    int error = check_time(time_limit);
    if (error != 0)
        return error;
    struct timespec deadline = deadline_in(time_limit);
    return timed(
        pthread_cond_clockwait(&cvp->rsm_cond, &mp->rsm_mutex, CLOCK_MONOTONIC, &deadline));
}

INIT(pthread_rwlock, rwlock_init, rwlock_t, rsm_rwlock)
SAME_AS(pthread_rwlock_destroy, rwlock_destroy, rwlock_t, rsm_rwlock)
SAME_AS(pthread_rwlock_rdlock, rw_rdlock, rwlock_t, rsm_rwlock)
SAME_AS(pthread_rwlock_wrlock, rw_wrlock, rwlock_t, rsm_rwlock)
SAME_AS(pthread_rwlock_tryrdlock, rw_tryrdlock, rwlock_t, rsm_rwlock)
SAME_AS(pthread_rwlock_trywrlock, rw_trywrlock, rwlock_t, rsm_rwlock)
SAME_AS(pthread_rwlock_unlock, rw_unlock, rwlock_t, rsm_rwlock)

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

SAME_AS(pthread_mutex_lock, mutex_lock, mutex_t, rsm_mutex)
SAME_AS(pthread_mutex_trylock, mutex_trylock, mutex_t, rsm_mutex)
SAME_AS(pthread_mutex_unlock, mutex_unlock, mutex_t, rsm_mutex)
SAME_AS(pthread_mutex_consistent, mutex_consistent, mutex_t, rsm_mutex)

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
    int error = sharing(type, &shared);
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
    int error = check_time(until);
    if (error != 0)
        return error;
    return timed(result(sem_timedwait(&sp->rsm_sem, until), saved));
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
    int error = check_time(time_limit);
    if (error != 0)
        return error;
    struct timespec deadline = deadline_in(time_limit);
    int outcome = sem_clockwait(&sp->rsm_sem, CLOCK_MONOTONIC, &deadline);
    if (outcome == 0)
        SEMAPHORE_TAKEN(&sp->rsm_sem);
    return timed(result(outcome, saved));
}

int sema_post(sema_t *sp)
{
    int saved = errno;
    return result(sem_post(&sp->rsm_sem), saved);
}
