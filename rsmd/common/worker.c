/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/worker.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "common/tables.h"

enum {
    LINGER_MS = 2000,   /* a thread without jobs ends after this */
    DONE_PER_TURN = 64, /* done() calls in one round of the loop */
    RETRY_MS = 100,     /* pause after a thread could not be started */
};

const struct rsmd_worker_limits rsmd_worker_single = {.threads = 1, .per_owner = 1, .waiting = 256};

struct owner {
    uint32_t id;
    struct rsmd_job *todo;
    unsigned waiting; /* in todo */
    unsigned running;
    struct owner *prev, *next; /* in the list of owners with a startable job */
    bool ready;                /* it is in that list */
    UT_hash_handle hh;
};

struct rsmd_worker {
    struct rsmd_worker_limits limits;
    pthread_mutex_t lock;   /* guards what follows, up to the blank line */
    pthread_cond_t wanted;  /* there is a job to take, or the worker ends */
    pthread_cond_t settled; /* there are no jobs any more */
    struct owner *owners;   /* with jobs, by id */
    struct owner *ready;    /* whose turn it is next */
    unsigned startable;     /* jobs that could start now */
    unsigned waiting;
    unsigned running;
    unsigned threads;
    unsigned idle; /* threads that will take a job */
    struct rsmd_job *done;
    bool ending;

    atomic_uint references; /* event loop, threads */
    int bell;               /* eventfd: a job is done */
    struct event *answer;   /* the event loop's */
    struct event *retry;    /* timer: a thread could not be started */
};

static void free_job(struct rsmd_job *job)
{
    if (job->free != NULL)
        job->free(job);
    else
        free(job);
}

static void free_all(struct rsmd_job *jobs)
{
    struct rsmd_job *job, *next;
    DL_FOREACH_SAFE(jobs, job, next)
    {
        free_job(job);
    }
}

/* Drop a reference. The last one frees it. */
static void let_go(struct rsmd_worker *worker)
{
    if (atomic_fetch_sub(&worker->references, 1) != 1)
        return;
    struct owner *owner, *next;
    HASH_ITER(hh, worker->owners, owner, next)
    {
        HASH_DEL(worker->owners, owner);
        free_all(owner->todo);
        free(owner);
    }
    free_all(worker->done);
    pthread_mutex_destroy(&worker->lock);
    pthread_cond_destroy(&worker->wanted);
    pthread_cond_destroy(&worker->settled);
    close(worker->bell);
    free(worker);
}

/* ------------------------------------------------------------------ owners; under the lock */

static unsigned startable(const struct rsmd_worker *worker, const struct owner *owner)
{
    unsigned room = worker->limits.per_owner - owner->running;
    return owner->waiting < room ? owner->waiting : room;
}

/* Update list and sum for an owner whose numbers have changed; `before` is the former result of
 * startable(). An owner without jobs is freed. */
static void update(struct rsmd_worker *worker, struct owner *owner, unsigned before)
{
    unsigned now = startable(worker, owner);
    worker->startable += now - before;
    if (now > 0 && !owner->ready && owner->id == 0)
        DL_PREPEND(worker->ready, owner);
    else if (now > 0 && !owner->ready)
        DL_APPEND(worker->ready, owner);
    else if (now == 0 && owner->ready)
        DL_DELETE(worker->ready, owner);
    owner->ready = now > 0;
    if (owner->waiting == 0 && owner->running == 0) {
        HASH_DEL(worker->owners, owner);
        free(owner);
    }
}

static struct owner *need_owner(struct rsmd_worker *worker, uint32_t id)
{
    struct owner *owner;
    HASH_FIND(hh, worker->owners, &id, sizeof id, owner);
    if (owner != NULL)
        return owner;
    owner = calloc(1, sizeof *owner);
    if (owner == NULL)
        return NULL;
    owner->id = id;
    HASH_ADD(hh, worker->owners, id, sizeof owner->id, owner);
    if (owner->hh.tbl != NULL)
        return owner;
    free(owner);
    return NULL;
}

/* Take the next job, of the owner whose turn it is, which then is last. */
static struct rsmd_job *start_one(struct rsmd_worker *worker, struct owner **of)
{
    struct owner *owner = worker->ready;
    if (owner == NULL)
        return NULL;
    unsigned before = startable(worker, owner);
    struct rsmd_job *job = owner->todo;
    DL_DELETE(owner->todo, job);
    owner->waiting--;
    owner->running++;
    worker->waiting--;
    worker->running++;
    DL_DELETE(worker->ready, owner);
    owner->ready = false;
    update(worker, owner, before);
    *of = owner;
    return job;
}

static void end_one(struct rsmd_worker *worker, struct owner *owner, struct rsmd_job *job)
{
    unsigned before = startable(worker, owner);
    owner->running--;
    worker->running--;
    DL_APPEND(worker->done, job);
    update(worker, owner, before);
    if (worker->running == 0 && worker->waiting == 0)
        pthread_cond_broadcast(&worker->settled);
}

/* ------------------------------------------------------------------ a thread */

static void ring(const struct rsmd_worker *worker)
{
    const uint64_t one = 1;
    /* Fails only when the bell has rung 2^64 times. */
    ssize_t ignored = write(worker->bell, &one, sizeof one);
    (void)ignored;
}

/* Wait for a job, under the lock. NULL: none came for LINGER_MS, or the worker ends. */
static struct rsmd_job *await_job(struct rsmd_worker *worker, struct owner **owner)
{
    const struct timespec until = rsm_timespec(rsm_deadline(LINGER_MS));
    struct rsmd_job *job = NULL;
    int error = 0;
    while (!worker->ending && (job = start_one(worker, owner)) == NULL && error == 0)
        error = pthread_cond_timedwait(&worker->wanted, &worker->lock, &until);
    return job;
}

static void *work(void *argument)
{
    struct rsmd_worker *worker = argument;
    struct owner *owner = NULL;
    struct rsmd_job *job;
    pthread_mutex_lock(&worker->lock);
    while ((job = await_job(worker, &owner)) != NULL) {
        worker->idle--;
        pthread_mutex_unlock(&worker->lock);
        if (!atomic_load(&job->cancelled))
            job->run(job);
        pthread_mutex_lock(&worker->lock);
        bool first = worker->done == NULL;
        end_one(worker, owner, job);
        worker->idle++;
        if (first)
            ring(worker);
    }
    worker->idle--;
    worker->threads--;
    pthread_mutex_unlock(&worker->lock);
    let_go(worker);
    return NULL;
}

/* Start a thread if more jobs can start than threads will take one, under the lock. False: it
 * cannot be started now. */
static bool have_threads(struct rsmd_worker *worker, uint32_t owner)
{
    unsigned max = worker->limits.threads + (owner == 0);
    if (worker->startable <= worker->idle || worker->threads >= max)
        return true;
    atomic_fetch_add(&worker->references, 1);
    worker->threads++;
    worker->idle++;
    int error = rsm_thread_start(NULL, "rsmd-worker", 0, work, worker);
    if (error == 0)
        return true;
    worker->threads--;
    worker->idle--;
    atomic_fetch_sub(&worker->references, 1);
    errno = error;
    rsm_log_error("cannot start a thread: %m");
    return worker->threads > 0;
}

/* ------------------------------------------------------------------ the event loop */

/* Call done() for some jobs. True: there are more. */
static bool report_some(struct rsmd_worker *worker, unsigned max)
{
    struct rsmd_job *some = NULL, *job, *next;
    pthread_mutex_lock(&worker->lock);
    for (; max > 0 && (job = worker->done) != NULL; max--) {
        DL_DELETE(worker->done, job);
        DL_APPEND(some, job);
    }
    bool more = worker->done != NULL;
    pthread_mutex_unlock(&worker->lock);
    DL_FOREACH_SAFE(some, job, next)
    {
        if (!atomic_load(&job->cancelled))
            job->done(job);
        free_job(job);
    }
    return more;
}

static void on_bell(evutil_socket_t fd, short what, void *argument)
{
    (void)what;
    struct rsmd_worker *worker = argument;
    uint64_t rung;
    ssize_t ignored = read(fd, &rung, sizeof rung);
    (void)ignored;
    if (report_some(worker, DONE_PER_TURN))
        ring(worker);
}

static void try_again(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    const struct timeval pause = {.tv_usec = RETRY_MS * 1000};
    struct rsmd_worker *worker = argument;
    pthread_mutex_lock(&worker->lock);
    bool served = have_threads(worker, 0);
    pthread_mutex_unlock(&worker->lock);
    if (!served)
        event_add(worker->retry, &pause);
}

static bool make_events(struct rsmd_worker *worker, struct event_base *base)
{
    worker->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (worker->bell < 0)
        return false;
    worker->answer = event_new(base, worker->bell, EV_READ | EV_PERSIST, on_bell, worker);
    worker->retry = evtimer_new(base, try_again, worker);
    return worker->answer != NULL && worker->retry != NULL && event_add(worker->answer, NULL) == 0;
}

static void free_events(struct rsmd_worker *worker)
{
    if (worker->answer != NULL)
        event_free(worker->answer);
    if (worker->retry != NULL)
        event_free(worker->retry);
}

struct rsmd_worker *rsmd_worker_new(struct event_base *base,
                                    const struct rsmd_worker_limits *limits)
{
    pthread_condattr_t clock;
    struct rsmd_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return NULL;
    worker->limits = *limits;
    atomic_init(&worker->references, 1);
    pthread_mutex_init(&worker->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&worker->wanted, &clock);
    pthread_cond_init(&worker->settled, &clock);
    pthread_condattr_destroy(&clock);
    if (make_events(worker, base))
        return worker;
    free_events(worker);
    let_go(worker);
    return NULL;
}

static bool enqueue(struct rsmd_worker *worker, struct rsmd_job *job)
{
    if (worker->limits.waiting != 0 && worker->waiting >= worker->limits.waiting)
        return false;
    struct owner *owner = need_owner(worker, job->owner);
    if (owner == NULL)
        return false;
    unsigned before = startable(worker, owner);
    DL_APPEND(owner->todo, job);
    owner->waiting++;
    worker->waiting++;
    update(worker, owner, before);
    pthread_cond_signal(&worker->wanted);
    return true;
}

void rsmd_worker_widen(struct rsmd_worker *worker, unsigned more)
{
    pthread_mutex_lock(&worker->lock);
    if (worker->limits.waiting != 0)
        worker->limits.waiting += more;
    pthread_mutex_unlock(&worker->lock);
}

bool rsmd_worker_submit(struct rsmd_worker *worker, struct rsmd_job *job)
{
    const struct timeval pause = {.tv_usec = RETRY_MS * 1000};
    atomic_init(&job->cancelled, false);
    pthread_mutex_lock(&worker->lock);
    bool taken = enqueue(worker, job);
    bool served = !taken || have_threads(worker, job->owner);
    pthread_mutex_unlock(&worker->lock);
    if (!served)
        event_add(worker->retry, &pause);
    return taken;
}

void rsmd_job_cancel(struct rsmd_job *job)
{
    atomic_store(&job->cancelled, true);
}

bool rsmd_worker_drain(struct rsmd_worker *worker, unsigned max_ms)
{
    const struct timespec until = rsm_timespec(rsm_deadline(max_ms));
    int error = 0;
    bool all, stuck;
    do { /* done() may submit further jobs */
        pthread_mutex_lock(&worker->lock);
        while ((worker->running > 0 || worker->waiting > 0) && worker->threads > 0 && error == 0)
            error = pthread_cond_timedwait(&worker->settled, &worker->lock, &until);
        pthread_mutex_unlock(&worker->lock);
        while (report_some(worker, DONE_PER_TURN))
            continue;
        pthread_mutex_lock(&worker->lock);
        all = worker->running == 0 && worker->waiting == 0 && worker->done == NULL;
        stuck = error != 0 || (worker->threads == 0 && worker->done == NULL);
        pthread_mutex_unlock(&worker->lock);
    } while (!all && !stuck);
    return all;
}

void rsmd_worker_end(struct rsmd_worker *worker)
{
    if (worker == NULL)
        return;
    free_events(worker);
    pthread_mutex_lock(&worker->lock);
    worker->ending = true;
    pthread_cond_broadcast(&worker->wanted);
    pthread_mutex_unlock(&worker->lock);
    let_go(worker);
}
