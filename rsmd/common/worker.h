/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Threads for calls that may block or take long: the resolver, munged, closing a descriptor that a
 * client sent, freeing or registering much memory. rsmd serves all clients from one thread, which
 * must not wait for any of these.
 *
 * Jobs have an owner, usually a user. The jobs of one owner start in the order in which they were
 * submitted, and no more of them run at once than the worker allows; owners take turns. So an owner
 * whose jobs never end delays only its own jobs. Threads are started when there are jobs, and end
 * after a while without any.
 */
#ifndef RSMD_WORKER_H
#define RSMD_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct rsmd_worker;

/** The first member of a job's structure. */
struct rsmd_job {
    void (*run)(struct rsmd_job *job);  /* in a thread; must touch nothing but the job */
    void (*done)(struct rsmd_job *job); /* in the event loop, unless it was cancelled */
    /* after done(), or instead of it; in either thread. NULL: free(job) */
    void (*free)(struct rsmd_job *job);
    uint32_t owner; /* uid or any other number; jobs of one share threads */
    atomic_bool cancelled;
    struct rsmd_job *prev, *next; /* the worker's */
};

struct rsmd_worker_limits {
    unsigned threads;   /* maximum of the worker; owner 0 (root) goes first and has one more */
    unsigned per_owner; /* maximum of one owner's jobs that run at once */
    unsigned waiting;   /* maximum of jobs that have not started; 0: any number */
};

/** Jobs one after the other. */
extern const struct rsmd_worker_limits rsmd_worker_single;

/** NULL: out of memory or descriptors. No thread is started yet. */
struct rsmd_worker *rsmd_worker_new(struct event_base *base,
                                    const struct rsmd_worker_limits *limits);

/** Raise the bound of waiting jobs, if there is one. */
void rsmd_worker_widen(struct rsmd_worker *worker, unsigned more);

/** Submit a job. False: there are too many, or no memory; the caller keeps the job. */
bool rsmd_worker_submit(struct rsmd_worker *worker, struct rsmd_job *job);

/** Drop a job's result: done() is not called. The job may still be running. */
void rsmd_job_cancel(struct rsmd_job *job);

/** Wait at most @p max_ms milliseconds until every job has run, including those that done() submits
 *  meanwhile, and call their done(). False: some have not run. */
bool rsmd_worker_drain(struct rsmd_worker *worker, unsigned max_ms);

/** End the worker. NULL is harmless. Does not wait for running jobs: their threads end when they
 *  return. Jobs that have not started never do. */
void rsmd_worker_end(struct rsmd_worker *worker);

#endif
