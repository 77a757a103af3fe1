/* SPDX-License-Identifier: BSD-3-Clause */
/** @file fork(2) amid the calls of other threads. Each part of the library that has state for the
 *  whole process guards it by a lock of this file. fork(2) takes all these locks, so the child
 *  finds each part whole, and there each part gives up what belongs to the parent.
 *
 *  The locks have ranks. A thread that holds one takes only locks of later ranks, and fork(2) takes
 *  them in the order of ranks, so no thread and no fork wait for each other for ever. Builds with
 *  assertions check the order whenever a lock is taken.
 *
 *  No thread holds one of these locks over a request to a daemon or anything else that can last,
 *  for fork(2) would wait as long. What has to be the only one of its kind for that long is guarded
 *  by an ordinary lock outside of this one, which fork(2) does not take and the child makes
 *  anew. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/exports.h"

/** From the outermost lock to the innermost one. */
enum rsmcore_fork_rank {
    /* The faces stand on the core, which never calls them. */
    RSMCORE_FORK_OBJECTS,     /* handles of SISCI: the lists of all other resources hang on them */
    RSMCORE_FORK_CALLBACKS,   /* SISCI's threads for callbacks: each belongs to a handle */
    RSMCORE_FORK_ADAPTERS,    /* SISCI's adapters: hold controllers of the core */
    RSMCORE_FORK_CONNECTIONS, /* those that SISCI orders: names connections of the core */
    RSMCORE_FORK_CONTROLLERS, /* controllers of RSMAPI: hold controllers of the core */
    RSMCORE_FORK_POLLFDS,     /* segments of RSMAPI by poll descriptor: name events of the core */

    RSMCORE_FORK_VIEWS,   /* mappings without loads and stores: install fault handlers */
    RSMCORE_FORK_EVENTS,  /* the thread for transports' events: calls transports */
    RSMCORE_FORK_REGIONS, /* exported pages: hold control connections, and swap pages */
    RSMCORE_FORK_PORTS,   /* of controllers: names them only */
    RSMCORE_FORK_WRAPS,   /* connections that get the mapping engine */

    /* Control connections. A thread that makes one may start a daemon or wait for the system's. */
    RSMCORE_FORK_CONTROLS,
    RSMCORE_FORK_STARTING, /* the pipe to a daemon that is being started */
    RSMCORE_FORK_SERVICE,  /* the connection to the service manager */

    /* The page swap, which calls no layer above it. */
    RSMCORE_FORK_FREEZER, /* the userfaultfd that is kept */
    RSMCORE_FORK_FREEZE,  /* memory that is frozen by mprotect(2): installs a fault handler */
    RSMCORE_FORK_FAULTS,  /* the chain of fault handlers, which calls no other part */

    /* Distinguishes inherited connections: first in a child, so that all other parts find it
     * done. */
    RSMCORE_FORK_GUARDS,

    RSMCORE_FORK_RANKS
};

/** A part of the library, as fork(2) sees it. Its owner defines it by RSMCORE_FORK_PART(). */
struct rsmcore_fork_part {
    enum rsmcore_fork_rank rank;
    pthread_mutex_t lock;
    int cancel_state;       /* to return to, of the thread that holds the lock */
    void (*in_child)(void); /* NULL: nothing belongs to the parent */
};

/**
 * Define the part @p part_ of this file and its lock, of rank @p rank_. In a forked child
 * @p in_child_ is called with the lock held, after the parts of later ranks have been through with
 * theirs, whose locks it may take. It allocates nothing. The part is known to fork(2) before any
 * thread can call its file: when the shared object has been loaded.
 */
#define RSMCORE_FORK_PART(part_, rank_, in_child_)                                                 \
    static struct rsmcore_fork_part part_ = {                                                      \
        .rank = (rank_), .lock = PTHREAD_MUTEX_INITIALIZER, .in_child = (in_child_)};              \
    __attribute__((constructor)) static void part_##_watch_fork(void)                              \
    {                                                                                              \
        rsmcore_fork_watch(&part_);                                                                \
    }                                                                                              \
    _Static_assert(true, "")

RSMCORE_EXPORTS_BEGIN

/** Have fork(2) know @p part from now on. Of RSMCORE_FORK_PART(). */
void rsmcore_fork_watch(struct rsmcore_fork_part *part);

/** Take the part's lock. The thread cannot be cancelled until it releases the lock. */
void rsmcore_fork_lock(struct rsmcore_fork_part *part);
/** Release it. */
void rsmcore_fork_unlock(struct rsmcore_fork_part *part);
/** pthread_cond_wait(3) with the part's lock, which the thread holds. */
void rsmcore_fork_wait(struct rsmcore_fork_part *part, pthread_cond_t *condition);

RSMCORE_EXPORTS_END

/** Whether fork(2) is watched. It is not where the process had no memory for a fork handler. */
bool rsmcore_fork_is_watched(void);

/** Assert that this thread holds no part's lock: before a request to a daemon. */
void rsmcore_fork_assert_unlocked(void);
