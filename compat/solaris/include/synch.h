/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Solaris's mutexes, condition variables, semaphores and reader-writer locks, over glibc's.
 *
 * Objects of static storage that are all zero are ready for use within their process; others are
 * initialised with a function, in memory that they may share with other processes by
 * #USYNC_PROCESS. Functions return 0 or an error number and leave errno alone.
 */
#ifndef _RSM_SOLARIS_SYNCH_H
#define _RSM_SOLARIS_SYNCH_H

#include <pthread.h>
#include <semaphore.h>
#include <sys/types.h>
#include <time.h>

/* Types of objects: who shares them. */
#define USYNC_THREAD         0x00 /* the threads of one process */
#define USYNC_PROCESS        0x01 /* processes that share the memory */
#define USYNC_PROCESS_ROBUST 0x08 /* mutexes: both USYNC_PROCESS and LOCK_ROBUST */

/* More of a mutex's type. */
#define LOCK_NORMAL       0x00
#define LOCK_ERRORCHECK   0x02 /* locking twice is EDEADLK, unlocking another's EPERM */
#define LOCK_RECURSIVE    0x04 /* the owner may lock again, and unlocks as often */
#define LOCK_PRIO_INHERIT 0x10 /* the owner runs at the priority of who waits */
#define LOCK_PRIO_PROTECT 0x20 /* the owner runs at the priority that the argument points to */
#define LOCK_ROBUST       0x40 /* the death of the owner is EOWNERDEAD for the next one */

/* The members are private. */
typedef struct {
    pthread_mutex_t rsm_mutex;
    unsigned int rsm_robust;
} mutex_t;
typedef struct {
    pthread_cond_t rsm_cond;
} cond_t;
typedef struct {
    sem_t rsm_sem;
} sema_t;
typedef struct {
    pthread_rwlock_t rsm_rwlock;
} rwlock_t;

/* Their older names. */
typedef mutex_t lwp_mutex_t;
typedef cond_t lwp_cond_t;
typedef sema_t lwp_sema_t;
typedef rwlock_t lwp_rwlock_t;

/* clang-format off */
#define DEFAULTMUTEX  { PTHREAD_MUTEX_INITIALIZER, 0 }
#define DEFAULTCV     { PTHREAD_COND_INITIALIZER }
#define DEFAULTSEMA   { { { 0 } } }
#define DEFAULTRWLOCK { PTHREAD_RWLOCK_INITIALIZER }
/* clang-format on */

#ifdef __cplusplus
extern "C" {
#endif

/* --- mutexes ------------------------------------------------------------------------------- */

/**
 * Initialise a mutex.
 *
 * A robust one must be in memory that was zero before its first initialisation. Initialising it
 * again is EBUSY, but for the thread that has just got EOWNERDEAD: for it this is
 * mutex_consistent(), the way before Solaris 10.
 *
 * @param type  one USYNC value together with any LOCK values; both priority protocols at once are
 *              EINVAL.
 * @param arg   with LOCK_PRIO_PROTECT an `int *` to the ceiling.
 */
int mutex_init(mutex_t *mp, int type, void *arg);

/** EBUSY while it is locked. Afterwards it may be initialised anew. */
int mutex_destroy(mutex_t *mp);

/**
 * Lock. Robust mutexes: EOWNERDEAD is a success too; the caller has the mutex and repairs what it
 * guards. ENOTRECOVERABLE: an earlier owner did not repair it. LOCK_ERRORCHECK: EDEADLK.
 */
int mutex_lock(mutex_t *mp);

/** As mutex_lock(), but EBUSY instead of waiting. */
int mutex_trylock(mutex_t *mp);

/** EPERM where the type checks and the caller is not the owner. After EOWNERDEAD without
 *  mutex_consistent() it cannot be locked any more. */
int mutex_unlock(mutex_t *mp);

/** After EOWNERDEAD: what the mutex guards is in order again. EINVAL if there was none. */
int mutex_consistent(mutex_t *mp);

/* --- condition variables -------------------------------------------------------------------- */

/** @param type  USYNC_THREAD or USYNC_PROCESS; else EINVAL. @param arg  ignored. */
int cond_init(cond_t *cvp, int type, void *arg);
int cond_destroy(cond_t *cvp);

/** Wait. May return without a reason, so the condition is looked at again. Signals do not end the
 *  wait: it never returns EINTR. */
int cond_wait(cond_t *cvp, mutex_t *mp);

/** Wait until a time of day. ETIME when it has come; EINVAL if it is none. */
int cond_timedwait(cond_t *cvp, mutex_t *mp, const timestruc_t *until);

/** Wait for some time at most, which setting the clock does not change. ETIME when it is over. */
int cond_reltimedwait(cond_t *cvp, mutex_t *mp, const timestruc_t *time_limit);

int cond_signal(cond_t *cvp);
int cond_broadcast(cond_t *cvp);

/* --- semaphores ----------------------------------------------------------------------------- */

/** @param count  EINVAL above SEM_VALUE_MAX. @param type, arg  as cond_init(). */
int sema_init(sema_t *sp, unsigned int count, int type, void *arg);
int sema_destroy(sema_t *sp);

/** Count down; wait where that is not possible. EINTR after a signal. */
int sema_wait(sema_t *sp);

/** Count down, or EBUSY. */
int sema_trywait(sema_t *sp);

/** As sema_wait(), until a time of day. ETIME when it has come. */
int sema_timedwait(sema_t *sp, const timestruc_t *until);

/** As sema_wait(), for some time at most. ETIME when it is over. */
int sema_reltimedwait(sema_t *sp, const timestruc_t *time_limit);

/** Count up. EOVERFLOW at SEM_VALUE_MAX. May be called by signal handlers. */
int sema_post(sema_t *sp);

/* --- reader-writer locks --------------------------------------------------------------------- */

/** @param type, arg  as cond_init(). */
int rwlock_init(rwlock_t *rwlp, int type, void *arg);
int rwlock_destroy(rwlock_t *rwlp);

/** Readers do not wait for writers that wait themselves. */
int rw_rdlock(rwlock_t *rwlp);
int rw_wrlock(rwlock_t *rwlp);

/** EBUSY instead of waiting. */
int rw_tryrdlock(rwlock_t *rwlp);
int rw_trywrlock(rwlock_t *rwlp);
int rw_unlock(rwlock_t *rwlp);

#ifdef __cplusplus
}
#endif

#endif
