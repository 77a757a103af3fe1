/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer/worker.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/log.h"

struct queue {
    struct rsmd_job *first, **end;
};

struct rsmd_worker {
    pthread_mutex_t lock;
    pthread_cond_t wanted;
    struct queue todo, done; /* under lock */
    unsigned count;          /* of todo */
    bool ending;
    bool running;         /* there is a thread; the event loop's */
    atomic_uint owners;   /* event loop, thread */
    int bell;             /* eventfd: something is done */
    struct event *answer; /* the event loop's */
};

static void put(struct queue *queue, struct rsmd_job *job)
{
    job->next = NULL;
    *queue->end = job;
    queue->end = &job->next;
}

static struct rsmd_job *take_all(struct queue *queue)
{
    struct rsmd_job *all = queue->first;
    queue->first = NULL;
    queue->end = &queue->first;
    return all;
}

static struct rsmd_job *take_one(struct queue *queue)
{
    struct rsmd_job *job = queue->first;
    if (job == NULL)
        return NULL;
    queue->first = job->next;
    if (queue->first == NULL)
        queue->end = &queue->first;
    return job;
}

static void free_jobs(struct rsmd_job *job)
{
    while (job != NULL) {
        struct rsmd_job *next = job->next;
        job->free(job);
        job = next;
    }
}

/* The last of the two frees it. */
static void let_go(struct rsmd_worker *worker)
{
    if (atomic_fetch_sub(&worker->owners, 1) != 1)
        return;
    free_jobs(take_all(&worker->todo));
    free_jobs(take_all(&worker->done));
    pthread_mutex_destroy(&worker->lock);
    pthread_cond_destroy(&worker->wanted);
    close(worker->bell);
    free(worker);
}

/* ------------------------------------------------------------------ the thread */

static struct rsmd_job *next_job(struct rsmd_worker *worker)
{
    struct rsmd_job *job = NULL;
    pthread_mutex_lock(&worker->lock);
    while (!worker->ending && (job = take_one(&worker->todo)) == NULL)
        pthread_cond_wait(&worker->wanted, &worker->lock);
    worker->count -= job != NULL;
    pthread_mutex_unlock(&worker->lock);
    return job;
}

static void *work(void *argument)
{
    struct rsmd_worker *worker = argument;
    const uint64_t one = 1;
    struct rsmd_job *job;
    while ((job = next_job(worker)) != NULL) {
        if (!atomic_load(&job->cancelled))
            job->run(job);
        pthread_mutex_lock(&worker->lock);
        put(&worker->done, job);
        pthread_mutex_unlock(&worker->lock);
        /* Fails only when the bell has rung 2^64 times. */
        ssize_t ignored = write(worker->bell, &one, sizeof one);
        (void)ignored;
    }
    let_go(worker);
    return NULL;
}

static bool start_thread(struct rsmd_worker *worker)
{
    pthread_t thread;
    pthread_attr_t detached;
    sigset_t all, before;
    if (pthread_attr_init(&detached) != 0)
        return false;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    /* Signals are for the event loop. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    atomic_fetch_add(&worker->owners, 1);
    int error = pthread_create(&thread, &detached, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    if (error != 0) {
        atomic_fetch_sub(&worker->owners, 1);
        errno = error;
        rsm_log_error("cannot start a thread: %m");
    }
    worker->running = error == 0;
    return worker->running;
}

/* ------------------------------------------------------------------ the event loop */

static void on_bell(evutil_socket_t fd, short what, void *argument)
{
    (void)what;
    struct rsmd_worker *worker = argument;
    uint64_t rung;
    ssize_t ignored = read(fd, &rung, sizeof rung);
    (void)ignored;
    pthread_mutex_lock(&worker->lock);
    struct rsmd_job *job = take_all(&worker->done);
    pthread_mutex_unlock(&worker->lock);
    while (job != NULL) {
        struct rsmd_job *next = job->next;
        if (!atomic_load(&job->cancelled))
            job->done(job);
        job->free(job);
        job = next;
    }
}

struct rsmd_worker *rsmd_worker_new(struct event_base *base)
{
    struct rsmd_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return NULL;
    worker->todo.end = &worker->todo.first;
    worker->done.end = &worker->done.first;
    atomic_init(&worker->owners, 1);
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->wanted, NULL);
    worker->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (worker->bell >= 0)
        worker->answer = event_new(base, worker->bell, EV_READ | EV_PERSIST, on_bell, worker);
    if (worker->answer != NULL && event_add(worker->answer, NULL) == 0)
        return worker;
    if (worker->answer != NULL)
        event_free(worker->answer);
    let_go(worker);
    return NULL;
}

bool rsmd_worker_submit(struct rsmd_worker *worker, struct rsmd_job *job)
{
    if (!worker->running && !start_thread(worker))
        return false;
    atomic_init(&job->cancelled, false);
    pthread_mutex_lock(&worker->lock);
    bool room = worker->count < RSMD_WORKER_JOBS_MAX;
    if (room) {
        put(&worker->todo, job);
        worker->count++;
        pthread_cond_signal(&worker->wanted);
    }
    pthread_mutex_unlock(&worker->lock);
    return room;
}

void rsmd_job_cancel(struct rsmd_job *job)
{
    atomic_store(&job->cancelled, true);
}

void rsmd_worker_end(struct rsmd_worker *worker)
{
    if (worker == NULL)
        return;
    event_free(worker->answer);
    pthread_mutex_lock(&worker->lock);
    worker->ending = true;
    pthread_cond_signal(&worker->wanted);
    pthread_mutex_unlock(&worker->lock);
    let_go(worker);
}
