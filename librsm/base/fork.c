/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fork.h"

#include <assert.h>

#include "base/cancel.h"

/* Held from the beginning of a fork to its end, and while a part is made known, which therefore is
 * known to a fork from beginning to end or not at all. Taken before all locks of parts. */
static pthread_mutex_t forking = PTHREAD_MUTEX_INITIALIZER;
static struct rsmcore_fork_part *parts[RSMCORE_FORK_RANKS]; /* NULL: not in this process */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool watched;

#ifndef NDEBUG
/* A bit for the rank of each lock that this thread holds. */
static __thread unsigned held __attribute__((tls_model("initial-exec")));

static void note_locked(enum rsmcore_fork_rank rank)
{
    assert(held >> rank == 0); /* else a lock of this rank or a later one is held */
    held |= 1u << rank;
}

static void note_unlocked(enum rsmcore_fork_rank rank)
{
    assert((held >> rank & 1) != 0);
    held &= ~(1u << rank);
}

void rsmcore_fork_assert_unlocked(void)
{
    assert(held == 0);
}
#else
static void note_locked(enum rsmcore_fork_rank rank)
{
    (void)rank;
}

static void note_unlocked(enum rsmcore_fork_rank rank)
{
    (void)rank;
}

void rsmcore_fork_assert_unlocked(void)
{
}
#endif

void rsmcore_fork_lock(struct rsmcore_fork_part *part)
{
    int state = rsm_cancel_disable();
    note_locked(part->rank);
    pthread_mutex_lock(&part->lock);
    part->cancel_state = state;
}

void rsmcore_fork_unlock(struct rsmcore_fork_part *part)
{
    int state = part->cancel_state;
    note_unlocked(part->rank);
    pthread_mutex_unlock(&part->lock);
    rsm_cancel_enable(state);
}

void rsmcore_fork_wait(struct rsmcore_fork_part *part, pthread_cond_t *condition)
{
    int state = part->cancel_state;
    pthread_cond_wait(condition, &part->lock);
    part->cancel_state = state;
}

static void before_fork(void)
{
    rsmcore_fork_assert_unlocked();
    pthread_mutex_lock(&forking);
    for (unsigned rank = 0; rank < RSMCORE_FORK_RANKS; rank++)
        if (parts[rank] != NULL)
            rsmcore_fork_lock(parts[rank]);
}

static void after_fork(bool in_child)
{
    for (unsigned rank = RSMCORE_FORK_RANKS; rank-- > 0;) {
        struct rsmcore_fork_part *part = parts[rank];
        if (part == NULL)
            continue;
        if (in_child && part->in_child != NULL)
            part->in_child();
        rsmcore_fork_unlock(part);
    }
    pthread_mutex_unlock(&forking);
}

static void after_fork_in_parent(void)
{
    after_fork(false);
}

static void after_fork_in_child(void)
{
    after_fork(true);
}

static void watch_fork(void)
{
    watched = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}

void rsmcore_fork_watch(struct rsmcore_fork_part *part)
{
    pthread_once(&once, watch_fork);
    pthread_mutex_lock(&forking);
    assert(parts[part->rank] == NULL);
    parts[part->rank] = part;
    pthread_mutex_unlock(&forking);
}

bool rsmcore_fork_is_watched(void)
{
    return watched;
}
