/* SPDX-License-Identifier: BSD-3-Clause */
/* What threads do for DMA queues, and what it shares with the queue */
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "dma_queue.h"

/* A transfer, and its callback. */
struct sisci_dma_call {
    struct sisci_dma_call *next;
    struct sisci_dma_transfer *transfer; /* NULL: it has ended */
    sci_cb_dma_t callback;               /* NULL: none */
    void *argument;
    sci_error_t status;
    sci_dma_queue_t handle;
};

struct sisci_dma_engine *sisci_dma_engine_make(void)
{
    struct sisci_dma_engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL)
        return NULL;
    rsm_cond_init(&engine->changed);
    pthread_mutex_init(&engine->lock, NULL);
    atomic_init(&engine->holders, 1);
    atomic_init(&engine->state, SCI_DMAQUEUE_IDLE);
    engine->outcome = SCI_ERR_OK;
    return engine;
}

void sisci_dma_engine_drop(struct sisci_dma_engine *engine)
{
    if (atomic_fetch_sub(&engine->holders, 1) > 1)
        return;
    struct sisci_dma_call *call, *next;
    LL_FOREACH_SAFE(engine->calls, call, next)
    free(call);
    pthread_cond_destroy(&engine->changed);
    pthread_mutex_destroy(&engine->lock);
    free(engine);
}

void sisci_dma_set_state(struct sisci_dma_engine *engine, sci_dma_queue_state_t state)
{
    engine->posts += state == SCI_DMAQUEUE_POSTED;
    atomic_store(&engine->state, state);
    pthread_cond_broadcast(&engine->changed);
    if (engine->ended && engine->caller != NULL)
        sisci_listener_wake(engine->caller); /* there may be no more calls than those */
}

/* Called with the lock held. */
static bool is_posted(const struct sisci_dma_wait *wait)
{
    return atomic_load(&wait->engine->state) == SCI_DMAQUEUE_POSTED &&
           wait->engine->posts == wait->posts;
}

enum rsm_status sisci_dma_await(void *argument, int timeout_ms)
{
    const struct sisci_dma_wait *wait = argument;
    struct sisci_dma_engine *engine = wait->engine;
    const struct timespec end = rsm_timespec(rsm_deadline(timeout_ms));
    int error = timeout_ms == 0 ? ETIMEDOUT : 0;
    pthread_mutex_lock(&engine->lock);
    while (is_posted(wait) && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&engine->changed, &engine->lock, &end);
    bool posted = is_posted(wait);
    pthread_mutex_unlock(&engine->lock);
    return posted ? RSM_ST_TIMEOUT : RSM_ST_OK;
}

static sci_dma_queue_state_t state_after(sci_error_t outcome)
{
    switch (outcome) {
    case SCI_ERR_OK:
        return SCI_DMAQUEUE_DONE;
    case SCI_ERR_CANCELLED:
        return SCI_DMAQUEUE_ABORTED;
    default:
        return SCI_DMAQUEUE_ERROR;
    }
}

/* Move the bytes of what has been posted. The segments are not busy any more when the state says
 * that it has ended. */
static sci_error_t carry_out(struct sisci_dma_engine *engine, struct sisci_dma_call *call)
{
    sci_error_t outcome = sisci_dma_transfer_run(call->transfer, &engine->stop);
    sisci_dma_transfer_release(call->transfer);
    call->transfer = NULL;
    call->status = outcome;
    pthread_mutex_lock(&engine->lock);
    atomic_store(&engine->stop, engine->ended);
    engine->outcome = outcome;
    if (call->callback != NULL) {
        LL_APPEND(engine->calls, call);
        sisci_listener_wake_next(engine->caller);
    } else {
        free(call);
    }
    sisci_dma_set_state(engine, state_after(outcome));
    pthread_mutex_unlock(&engine->lock);
    return outcome;
}

void sisci_dma_take_over(const struct sisci_dma_wait *wait)
{
    RSM_UNCANCELLABLE;
    struct sisci_dma_engine *engine = wait->engine;
    pthread_mutex_lock(&engine->lock);
    struct sisci_dma_call *call = is_posted(wait) ? engine->posted : NULL;
    if (call != NULL && sisci_dma_transfer_is_short(call->transfer))
        engine->posted = NULL;
    else
        call = NULL;
    pthread_mutex_unlock(&engine->lock);
    if (call != NULL)
        (void)carry_out(engine, call);
}

/* One transfer: then the thread calls the program. The last turn comes after it. */
static enum sisci_turn move_next(void *argument)
{
    struct sisci_dma_engine *engine = argument;
    pthread_mutex_lock(&engine->lock);
    struct sisci_dma_call *call = engine->posted;
    bool ended = engine->ended;
    engine->posted = NULL;
    pthread_mutex_unlock(&engine->lock);
    if (call != NULL)
        (void)carry_out(engine, call);
    if (!ended)
        return SISCI_TURN_IDLE;
    return call != NULL ? SISCI_TURN_AGAIN : SISCI_TURN_LAST;
}

static void call_program(void *argument)
{
    const struct sisci_dma_call *call = argument;
    /* Whatever the answer: a transfer has one call. */
    (void)call->callback(call->argument, call->handle, call->status);
}

/* Calls that are due are made before the last turn, unless a callback of the queue ends it. */
static enum sisci_turn call_next(void *argument)
{
    struct sisci_dma_engine *engine = argument;
    pthread_mutex_lock(&engine->lock);
    struct sisci_dma_call *call = engine->silent ? NULL : engine->calls;
    bool last = engine->ended && atomic_load(&engine->state) != SCI_DMAQUEUE_POSTED;
    if (call != NULL)
        LL_DELETE(engine->calls, call);
    pthread_mutex_unlock(&engine->lock);
    if (call == NULL)
        return last ? SISCI_TURN_LAST : SISCI_TURN_IDLE;
    sisci_call_deep(call_program, call);
    free(call);
    return SISCI_TURN_AGAIN;
}

static void finish(void *engine)
{
    sisci_dma_engine_drop(engine);
}

static const struct sisci_listener_type mover_type = {.take_turn = move_next, .finish = finish};
static const struct sisci_listener_type caller_type = {.take_turn = call_next, .finish = finish};

/* Called with the lock held. */
static sci_error_t need_listener(struct sisci_dma_engine *engine,
                                 const struct sisci_listener_type *type,
                                 struct sisci_listener **listener)
{
    if (*listener != NULL)
        return SCI_ERR_OK;
    atomic_fetch_add(&engine->holders, 1);
    sci_error_t error = sisci_listener_start(type, engine, listener);
    if (error != SCI_ERR_OK)
        atomic_fetch_sub(&engine->holders, 1);
    return error;
}

/* Called with the lock held. */
static sci_error_t need_listeners(struct sisci_dma_engine *engine,
                                  const struct sisci_dma_manner *manner)
{
    sci_error_t error = engine->ended ? SCI_ERR_CANCELLED : SCI_ERR_OK;
    if (error == SCI_ERR_OK && !manner->wait)
        error = need_listener(engine, &mover_type, &engine->mover);
    if (error == SCI_ERR_OK && manner->callback != NULL)
        error = need_listener(engine, &caller_type, &engine->caller);
    return error;
}

static struct sisci_dma_call *make_call(const struct sisci_dma_engine *engine,
                                        struct sisci_dma_transfer *transfer,
                                        const struct sisci_dma_manner *manner)
{
    struct sisci_dma_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    call->transfer = transfer;
    call->callback = manner->callback;
    call->argument = manner->argument;
    call->handle = engine->handle;
    return call;
}

bool sisci_dma_claim(struct sisci_dma_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    bool gathered = atomic_load(&engine->state) == SCI_DMAQUEUE_GATHER;
    if (gathered)
        sisci_dma_set_state(engine, SCI_DMAQUEUE_POSTED);
    pthread_mutex_unlock(&engine->lock);
    return gathered;
}

void sisci_dma_unclaim(struct sisci_dma_engine *engine)
{
    atomic_store(&engine->stop, engine->ended);
    sisci_dma_set_state(engine, SCI_DMAQUEUE_GATHER);
}

/* Called with the lock held. */
static void enter(struct sisci_dma_queue *queue, struct sisci_dma_call *call,
                  const struct sisci_dma_manner *manner)
{
    struct sisci_dma_engine *engine = queue->engine;
    engine->outcome = SCI_ERR_OK;
    engine->calls_back = manner->callback != NULL;
    engine->posted = manner->wait ? NULL : call;
    queue->entries = 0;
    if (atomic_load(&engine->state) != SCI_DMAQUEUE_POSTED) /* else it was claimed */
        sisci_dma_set_state(engine, SCI_DMAQUEUE_POSTED);
    if (!manner->wait)
        sisci_listener_wake(engine->mover);
}

sci_error_t sisci_dma_post(struct sisci_dma_queue *queue, struct sisci_dma_transfer *transfer,
                           const struct sisci_dma_manner *manner)
{
    struct sisci_dma_engine *engine = queue->engine;
    struct sisci_dma_call *call = make_call(engine, transfer, manner);
    sci_error_t error = call != NULL ? need_listeners(engine, manner) : SCI_ERR_NOSPC;
    if (error == SCI_ERR_OK)
        enter(queue, call, manner);
    else if (atomic_load(&engine->state) == SCI_DMAQUEUE_POSTED)
        sisci_dma_unclaim(engine);
    pthread_mutex_unlock(&engine->lock);
    if (error != SCI_ERR_OK) {
        free(call);
        sisci_dma_transfer_release(transfer);
        return error;
    }
    return manner->wait ? carry_out(engine, call) : SCI_ERR_OK;
}
