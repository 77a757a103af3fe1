/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The threads of this process by their Solaris ids: pthread_t is wider than thread_t, and
 *  Solaris knows things about threads that POSIX does not (any of them can be waited for, daemons,
 *  ids of all). */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <thread.h>

#define RSM_SOLARIS_MAIN_THREAD 1u

/** All members are guarded by the registry's lock, `id` is constant. */
struct rsm_solaris_thread {
    struct rsm_solaris_thread *next;
    thread_t id;
    pid_t tid;            /**< kernel's id; 0 until the thread itself has filled it in */
    pthread_t handle;     /**< of threads that thr_create() made */
    bool created;         /**< by thr_create(): the record is on the heap */
    bool detached;        /**< it cannot be joined */
    bool daemon;          /**< the process does not stay for it */
    bool suspended;       /**< waits for thr_continue() */
    bool exited;          /**< nothing but joining is left */
    bool joining;         /**< waits in thr_join() */
    thread_t awaited;     /**< the thread it waits for; 0: any */
    unsigned int joiners; /**< threads that wait in thr_join() for this one */
    void *status;         /**< given to thr_exit() */
    void *(*start)(void *);
    void *arg;
    sigset_t mask; /**< to start with */
};

/** Lock the registry and block all signals, as thr_kill() may be called by a handler. Never held
 *  while waiting for anything. */
void rsm_solaris_registry_lock(sigset_t *saved);
void rsm_solaris_registry_unlock(const sigset_t *saved);

/** The caller's record; made for the main thread and those of pthread_create() on their first call.
 *  Takes the lock. */
struct rsm_solaris_thread *rsm_solaris_self(void);

/** The thread of that id, NULL if there is none. Under the lock. */
struct rsm_solaris_thread *rsm_solaris_find(thread_t id);

/** First thread of the list. Under the lock. */
struct rsm_solaris_thread *rsm_solaris_first(void);

/** Give a new record an id and put it into the list. Under the lock. */
void rsm_solaris_insert(struct rsm_solaris_thread *thread);

/** Take a record out of the list. Under the lock. */
void rsm_solaris_remove(struct rsm_solaris_thread *thread);

/** The calling thread is this record. Under the lock. */
void rsm_solaris_become(struct rsm_solaris_thread *thread);

/** The calling thread, which has this record, is about to end. Ends the process with the last
 * thread that is not a daemon. Takes the lock. */
void rsm_solaris_thread_ends(void *record);

/** 0, or the reason why threads cannot be created. */
int rsm_solaris_registry_init(void);

/** The number of changes so far that a thread may wait for: starts and ends of threads,
 *  thr_continue(). */
unsigned long rsm_solaris_changes(void);

/** Say that there was one. */
void rsm_solaris_changed(void);

/** Wait for a change after the one that rsm_solaris_changes() counted. Not under the lock. */
void rsm_solaris_wait_change(unsigned long seen);
