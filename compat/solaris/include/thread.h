/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Solaris threads, over POSIX ones. Functions return 0 or an error number and leave errno alone.
 *
 * Threads have small numbers: the main one is 1, no thread is 0, and none is used twice. Threads
 * that pthread_create() made get one when they first call thr_self() or another function here; they
 * are as detached ones and are known here only from then on.
 */
#ifndef _RSM_SOLARIS_THREAD_H
#define _RSM_SOLARIS_THREAD_H

#include <signal.h>
#include <synch.h>
#include <sys/time.h>
#include <sys/types.h>

typedef unsigned int thread_t;
typedef unsigned int thread_key_t;

/* Flags of thr_create(). */
#define THR_BOUND     0x001 /* a kernel thread of its own: all have one */
#define THR_NEW_LWP   0x002 /* one kernel thread more: each brings its own */
#define THR_DETACHED  0x040 /* it cannot be joined */
#define THR_SUSPENDED 0x080 /* it starts with thr_continue() */
#define THR_DAEMON    0x100 /* the process does not stay for it, nor does thr_join(0) */

/** What a key of thr_keycreate_once() is initialised with. */
#define THR_ONCE_KEY ((thread_key_t)(-1))

/** Old name of the smallest stack. */
#define THR_MIN_STACK thr_min_stack()

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a thread.
 *
 * @param stack_base  lowest address of its stack, or NULL: the system provides one.
 * @param stack_size  bytes, at least thr_min_stack(); 0 with a NULL base means the usual size.
 * @param flags       THR_ flags, others are EINVAL.
 * @param[out] new_thread  its id, unless NULL; written before the thread starts, on success only.
 * @return EINVAL (stack, flags, NULL function), EAGAIN, ENOMEM.
 */
int thr_create(void *stack_base, size_t stack_size, void *(*start)(void *), void *arg, long flags,
               thread_t *new_thread);

/**
 * Wait for a thread's end and take its status.
 *
 * @param id  the thread; 0: any undetached thread that no other waits for, except daemons.
 * @param[out] departed, status unless NULL; on success only.
 * @return ESRCH (no undetached thread with this id, or another thread took its status), EDEADLK
 *         (the caller itself; with 0 also if all other threads are daemons or wait here for any).
 */
int thr_join(thread_t id, thread_t *departed, void **status);

/** End the calling thread. The process ends, with status 0, with the last thread that is not a
 *  daemon. */
void thr_exit(void *status) __attribute__((__noreturn__));

thread_t thr_self(void);

/** 1 in the process's first thread, else 0. */
int thr_main(void);

void thr_yield(void);

/** Let a thread run that was created with THR_SUSPENDED; no effect on others. ESRCH. */
int thr_continue(thread_t id);

/** Send a signal to a thread; 0 only looks whether it is there. ESRCH, EINVAL. May be called by
 *  signal handlers. */
int thr_kill(thread_t id, int sig);

/** As pthread_sigmask(). */
int thr_sigsetmask(int how, const sigset_t *set, sigset_t *old);

/** Bytes of stack that a thread needs at least. */
size_t thr_min_stack(void);

/** The caller's stack: `ss_sp` is its upper end, `ss_size` the distance to the lower one. */
int thr_stksegment(stack_t *stack);

/** A number for thr_getconcurrency(), and nothing else: all threads run at the same time. EINVAL if
 *  negative. */
int thr_setconcurrency(int level);
int thr_getconcurrency(void);

/** Linux's static priority within the thread's scheduling class: only 0 outside the real-time ones.
 *  ESRCH, EINVAL, EPERM. */
int thr_setprio(thread_t id, int priority);
int thr_getprio(thread_t id, int *priority);

/** Make a key for values of which each thread has its own. @p destructor, unless NULL, gets values
 *  that are not NULL when their thread ends. EAGAIN, ENOMEM. */
int thr_keycreate(thread_key_t *key, void (*destructor)(void *));

/** The same, once for all callers with one key, which is THR_ONCE_KEY at first. */
int thr_keycreate_once(thread_key_t *key, void (*destructor)(void *));

/** EINVAL: no such key. */
int thr_setspecific(thread_key_t key, void *value);
int thr_getspecific(thread_key_t key, void **value);

#ifdef __cplusplus
}
#endif

#endif
