/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions over a transport that has none: a work is put or got, and completed, before submit()
 * returns, and its status waits here until it is polled. The ring of a connection is made by its
 * first submit().
 *
 * A connection that has been replaced (rsmcore_conn_succeed()) may have completions of its own,
 * which are taken after those here.
 */
#include <pthread.h>
#include <stdlib.h>

#include "transport/generic.h"

struct rsmcore_completions {
    pthread_mutex_t lock;
    const struct rsm_conn *counts; /* the transport's connection */
    unsigned process;              /* that made it */
    struct rsm_conn *former;       /* with a form of its own; NULL: there is none */
    struct rsm_completion *ring;   /* RSM_WORK_MAX of them; NULL: nothing was submitted yet */
    uint32_t first;                /* the oldest */
    uint32_t count;
    uint32_t running; /* works that are being carried out */
};

struct rsmcore_completions *rsmcore_completions_make(const struct rsm_conn *conn, unsigned process)
{
    struct rsmcore_completions *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    pthread_mutex_init(&made->lock, NULL);
    made->counts = conn;
    made->process = process;
    return made;
}

unsigned rsmcore_completions_process(const struct rsmcore_completions *completions)
{
    return completions->process;
}

void rsmcore_completions_follow(struct rsmcore_completions *completions, struct rsm_conn *former)
{
    if (former->ops->completions != NULL && former->ops->completions != &rsmcore_completion_ops)
        completions->former = former;
}

struct rsm_conn *rsmcore_completions_former(const struct rsmcore_completions *completions)
{
    return completions->former;
}

void rsmcore_completions_free(struct rsmcore_completions *completions)
{
    pthread_mutex_destroy(&completions->lock);
    free(completions->ring);
    free(completions);
}

/* Room for the completion, before the transfer begins. */
static enum rsm_status reserve(struct rsmcore_completions *completions)
{
    enum rsm_status status = RSM_ST_OK;
    pthread_mutex_lock(&completions->lock);
    if (completions->ring == NULL)
        completions->ring = calloc(RSM_WORK_MAX, sizeof *completions->ring);
    if (completions->ring == NULL)
        status = RSM_ST_NO_MEMORY;
    else if (completions->count + completions->running == RSM_WORK_MAX)
        status = RSM_ST_BUSY;
    else
        completions->running++;
    pthread_mutex_unlock(&completions->lock);
    return status;
}

static void append(struct rsmcore_completions *completions, struct rsm_completion completion)
{
    pthread_mutex_lock(&completions->lock);
    completions->running--;
    completions->ring[(completions->first + completions->count++) % RSM_WORK_MAX] = completion;
    pthread_mutex_unlock(&completions->lock);
}

static enum rsm_status carry_out(struct rsm_conn *conn, const struct rsm_work *work)
{
    const struct rsm_transfer *transfer = &work->transfer;
    const struct rsm_conn *counts = ((struct rsmcore_completions *)conn->core)->counts;
    uint32_t failures = rsm_conn_failures(counts);
    enum rsm_status status =
        work->read ? conn->ops->get(conn, transfer->remote, transfer->local, transfer->length)
                   : conn->ops->put(conn, transfer->remote, transfer->local, transfer->length);
    if (status == RSM_ST_OK)
        status = conn->ops->complete(conn);
    return status == RSM_ST_OK && rsm_conn_failures(counts) != failures ? RSM_ST_TRANSFER : status;
}

static enum rsm_status submit(struct rsm_conn *conn, const struct rsm_work *work)
{
    enum rsm_status status = reserve(conn->core);
    if (status == RSM_ST_OK)
        append(conn->core,
               (struct rsm_completion){.cookie = work->cookie, .status = carry_out(conn, work)});
    return status;
}

static unsigned poll_all(struct rsm_conn *conn, struct rsm_completion *taken, unsigned max)
{
    struct rsmcore_completions *completions = conn->core;
    struct rsm_conn *former = completions->former;
    unsigned count = 0;
    pthread_mutex_lock(&completions->lock);
    for (; count < max && completions->count > 0; completions->count--) {
        taken[count++] = completions->ring[completions->first];
        completions->first = (completions->first + 1) % RSM_WORK_MAX;
    }
    pthread_mutex_unlock(&completions->lock);
    if (former != NULL && count < max)
        count += former->ops->completions->poll(former, taken + count, max - count);
    return count;
}

/* Does not wait for works that other threads are submitting at this moment: those threads find
 * their completions. */
static enum rsm_status wait_for_any(struct rsm_conn *conn, int timeout_ms)
{
    struct rsmcore_completions *completions = conn->core;
    struct rsm_conn *former = completions->former;
    pthread_mutex_lock(&completions->lock);
    bool any = completions->count > 0;
    pthread_mutex_unlock(&completions->lock);
    if (any)
        return RSM_ST_OK;
    return former != NULL ? former->ops->completions->wait(former, timeout_ms) : RSM_ST_NOT_FOUND;
}

const struct rsm_completion_ops rsmcore_completion_ops = {
    .size = sizeof(struct rsm_completion_ops),
    .submit = submit,
    .poll = poll_all,
    .wait = wait_for_any,
};
