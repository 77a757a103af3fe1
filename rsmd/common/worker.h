/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Threads for calls that may block or take long: the resolver, munged, closing a descriptor that a
 * client sent, freeing or registering much memory. rsmd serves everybody from one thread, which
 * must never wait for any of these.
 *
 * Jobs have an owner, usually a user. The jobs of one owner start in the order in which they were
 * submitted, and no more of them run at once than the worker allows; owners take turns. So an owner
 * whose jobs never end holds up nobody's jobs but his own. Threads are started when there is
 * something to do and end when there has been nothing for a while.
 */
#ifndef RSMD_WORKER_H
#define RSMD_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct rsmd_worker;

/** First member of whatever a job needs. */
struct rsmd_job {
    void (*run)(struct rsmd_job *job);  /* in a thread; must touch nothing but the job */
    void (*done)(struct rsmd_job *job); /* in the event loop, unless it was cancelled */
    void (*free)(struct rsmd_job *job); /* after done(), or instead; in either thread */
    uint32_t owner;                     /* uid or any other number; jobs of one share threads */
    atomic_bool cancelled;
    struct rsmd_job *prev, *next; /* the worker's */
};

struct rsmd_worker_limits {
    unsigned threads;   /* of the worker, at most; owner 0 (root) goes first and has one more */
    unsigned per_owner; /* jobs of one owner that run at once, at most */
    unsigned waiting;   /* jobs that have not started, at most; 0: any number */
};

/** Jobs one after the other. */
extern const struct rsmd_worker_limits rsmd_worker_single;

/** NULL: out of memory or descriptors. No thread is started yet. */
struct rsmd_worker *rsmd_worker_new(struct event_base *base,
                                    const struct rsmd_worker_limits *limits);

/** Let so many more jobs wait, if their number is bounded. */
void rsmd_worker_widen(struct rsmd_worker *worker, unsigned more);

/** Hand a job over. False: there are too many, or no memory; the job is still the caller's. */
bool rsmd_worker_submit(struct rsmd_worker *worker, struct rsmd_job *job);

/** Nobody wants the job's result any more. It may still be running. */
void rsmd_job_cancel(struct rsmd_job *job);

/** Wait until every job has run, with those that done() submits meanwhile, for @p max_ms
 *  milliseconds at most; done() has been called for those that have. False: some have not. */
bool rsmd_worker_drain(struct rsmd_worker *worker, unsigned max_ms);

/** Done with it; NULL is harmless. Does not wait for jobs that are running: their threads end when
 *  those return. Jobs that have not started never do. */
void rsmd_worker_end(struct rsmd_worker *worker);

#endif
