/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A thread for calls that may block: the resolver, munged. rsmd serves everybody from one thread,
 * which must never wait for either. Jobs run one after the other in a thread of the worker's; their
 * ends are told in the event loop.
 */
#ifndef RSMD_PEER_WORKER_H
#define RSMD_PEER_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>

struct event_base;
struct rsmd_worker;

enum { RSMD_WORKER_JOBS_MAX = 256 };

/** First member of whatever a job needs. */
struct rsmd_job {
    void (*run)(struct rsmd_job *job);  /* in the thread; must touch nothing but the job */
    void (*done)(struct rsmd_job *job); /* in the event loop, unless it was cancelled */
    void (*free)(struct rsmd_job *job); /* after done(), or instead; in either thread */
    atomic_bool cancelled;
    struct rsmd_job *next;
};

/** The thread starts with the first job. NULL: out of memory or descriptors. */
struct rsmd_worker *rsmd_worker_new(struct event_base *base);

/** Hand a job over. False: there are too many, or no thread; the job is still the caller's. */
bool rsmd_worker_submit(struct rsmd_worker *worker, struct rsmd_job *job);

/** Nobody wants the job's result any more. It may still be running. */
void rsmd_job_cancel(struct rsmd_job *job);

/** Done with it. Does not wait for a job that is running: the thread ends when that returns. */
void rsmd_worker_end(struct rsmd_worker *worker);

#endif
