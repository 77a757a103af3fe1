/* SPDX-License-Identifier: BSD-3-Clause */
/* SCICreateDMAQueue(), SCIRemoveDMAQueue(), and what is done with queues but transfers */
#include "dma_queue.h"

#include <stdlib.h>

#include "adapter.h"
#include "export.h"

/* Programs pass the flags of the transfer to the wait, too. */
enum { ENGINE_FLAGS = SCI_FLAG_DMA_GLOBAL | SCI_FLAG_DMA_SYSDMA | SCI_FLAG_DMA_ADAPTER };

/* A transfer that is posted stops within a piece, and with it the waits. */
static void cancel(struct sisci_object *object)
{
    struct sisci_dma_engine *engine = ((struct sisci_dma_queue *)object)->engine;
    pthread_mutex_lock(&engine->lock);
    engine->ended = true;
    atomic_store(&engine->stop, true);
    if (engine->mover != NULL)
        sisci_listener_wake(engine->mover);
    if (engine->caller != NULL)
        sisci_listener_wake(engine->caller);
    pthread_mutex_unlock(&engine->lock);
}

/* The calling thread is in a callback that ends the queue. After its return no callback is
 * called. */
static void silence(struct sisci_dma_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->silent = true;
    pthread_mutex_unlock(&engine->lock);
}

static void release(struct sisci_object *object)
{
    struct sisci_dma_queue *queue = (struct sisci_dma_queue *)object;
    struct sisci_dma_engine *engine = queue->engine;
    if (engine->mover != NULL)
        (void)sisci_listener_end(engine->mover); /* which calls no callback */
    if (engine->caller != NULL && !sisci_listener_end(engine->caller))
        silence(engine);
    sisci_dma_engine_drop(engine);
    free(queue->requests);
}

static const struct sisci_type queue_type = {
    .kind = SISCI_DMA_QUEUE, .cancel = cancel, .release = release};

static sci_error_t create(struct sisci_object *desc, unsigned adapter, unsigned max_entries,
                          sci_dma_queue_t *handle)
{
    struct sisci_dma_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL || (queue->engine = sisci_dma_engine_make()) == NULL) {
        free(queue);
        return SCI_ERR_NOSPC;
    }
    queue->adapter = adapter;
    queue->max_entries = max_entries;
    /* A thread that ends the descriptor meanwhile waits for the lock before it ends the queue. */
    struct sisci_dma_engine *engine = queue->engine;
    void *made = NULL;
    pthread_mutex_lock(&engine->lock);
    sci_error_t error = sisci_object_enter(&queue->object, &queue_type, desc, &made);
    *handle = engine->handle = made;
    pthread_mutex_unlock(&engine->lock);
    if (error != SCI_ERR_OK) {
        sisci_dma_engine_drop(engine);
        free(queue);
    }
    return error;
}

SISCI_API(void, SCICreateDMAQueue)
(sci_desc_t sd, sci_dma_queue_t *dq, unsigned int localAdapterNo, unsigned int maxEntries,
 unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sci_dma_queue_t made = NULL;
    sci_error_t result = sisci_check(flags, 0);
    if (result == SCI_ERR_OK)
        result = dq == NULL ? SCI_ERR_ILLEGAL_PARAMETER : sisci_adapter_check(localAdapterNo);
    struct sisci_object *desc = sisci_need(sd, SISCI_DESC, &result);
    if (desc != NULL) {
        result = create(desc, localAdapterNo, maxEntries, &made);
        sisci_drop(desc);
    }
    if (dq != NULL)
        *dq = made;
    sisci_report(error, result);
}

SISCI_API(void, SCIRemoveDMAQueue)(sci_dma_queue_t dq, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sci_error_t result = sisci_check(flags, 0);
    struct sisci_dma_queue *queue = sisci_need_to_end(dq, SISCI_DMA_QUEUE, &result);
    if (queue != NULL && atomic_load(&queue->engine->state) == SCI_DMAQUEUE_POSTED) {
        result = SCI_ERR_ILLEGAL_OPERATION;
        sisci_drop(&queue->object);
    } else if (queue != NULL) {
        result = sisci_end(&queue->object, SISCI_END_ALL);
    }
    sisci_report(error, result);
}

SISCI_API(sci_dma_queue_state_t, SCIDMAQueueState)(sci_dma_queue_t dq)
{
    RSM_CANCEL_DEFERRED;
    struct sisci_dma_queue *queue = sisci_hold(dq, SISCI_DMA_QUEUE);
    if (queue == NULL)
        return SCI_DMAQUEUE_ERROR;
    sci_dma_queue_state_t state = atomic_load(&queue->engine->state);
    sisci_drop(&queue->object);
    return state;
}

/* What became of the latest transfer, and the state that goes with it. */
static sci_error_t outcome(struct sisci_dma_engine *engine, sci_dma_queue_state_t *state)
{
    pthread_mutex_lock(&engine->lock);
    sci_error_t error = engine->outcome;
    *state = atomic_load(&engine->state);
    pthread_mutex_unlock(&engine->lock);
    return error;
}

static sci_error_t wait_for(struct sisci_dma_queue *queue, unsigned timeout,
                            sci_dma_queue_state_t *state)
{
    struct sisci_dma_engine *engine = queue->engine;
    struct sisci_dma_wait wait = {.engine = engine};
    pthread_mutex_lock(&engine->lock);
    bool calls_back = engine->calls_back;
    wait.posts = engine->posts;
    *state = atomic_load(&engine->state);
    pthread_mutex_unlock(&engine->lock);
    if (calls_back)
        return SCI_ERR_ILLEGAL_OPERATION;
    if (timeout > 0)
        sisci_dma_take_over(&wait);
    enum rsm_status status = sisci_wait(&queue->object, timeout, sisci_dma_await, &wait);
    sci_error_t error = outcome(engine, state);
    return status == RSM_ST_OK ? error : sisci_error(SISCI_WAIT, status);
}

SISCI_API(sci_dma_queue_state_t, SCIWaitForDMAQueue)
(sci_dma_queue_t dq, unsigned int timeout, unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sci_dma_queue_state_t state = SCI_DMAQUEUE_ERROR;
    sci_error_t result = sisci_check(flags, ENGINE_FLAGS);
    struct sisci_dma_queue *queue = sisci_need(dq, SISCI_DMA_QUEUE, &result);
    if (queue != NULL) {
        result = wait_for(queue, timeout, &state);
        sisci_drop(&queue->object);
    }
    sisci_report(error, result);
    return state;
}

/* Until the transfer has ended: the thread cannot be cancelled, for bytes would go on moving. */
static void abort_transfer(struct sisci_dma_queue *queue)
{
    struct sisci_dma_engine *engine = queue->engine;
    struct sisci_dma_wait wait = {.engine = engine};
    pthread_mutex_lock(&engine->lock);
    bool posted = atomic_load(&engine->state) == SCI_DMAQUEUE_POSTED;
    wait.posts = engine->posts;
    if (posted)
        atomic_store(&engine->stop, true);
    pthread_mutex_unlock(&engine->lock);
    if (posted)
        (void)sisci_wait(&queue->object, SCI_INFINITE_TIMEOUT, sisci_dma_await, &wait);
}

SISCI_API(void, SCIAbortDMAQueue)(sci_dma_queue_t dq, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sci_error_t result = sisci_check(flags, 0);
    struct sisci_dma_queue *queue = sisci_need(dq, SISCI_DMA_QUEUE, &result);
    if (queue != NULL) {
        abort_transfer(queue);
        sisci_drop(&queue->object);
    }
    sisci_report(error, result);
}

sci_error_t sisci_dma_reset(struct sisci_dma_queue *queue)
{
    struct sisci_dma_engine *engine = queue->engine;
    pthread_mutex_lock(&engine->lock);
    bool posted = atomic_load(&engine->state) == SCI_DMAQUEUE_POSTED;
    if (!posted) {
        queue->entries = 0;
        engine->outcome = SCI_ERR_OK;
        engine->calls_back = false;
        sisci_dma_set_state(engine, SCI_DMAQUEUE_IDLE);
    }
    pthread_mutex_unlock(&engine->lock);
    return posted ? SCI_ERR_ILLEGAL_OPERATION : SCI_ERR_OK;
}

SISCI_API(void, SCIResetDMAQueue)(sci_dma_queue_t dq, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sci_error_t result = sisci_check(flags, 0);
    struct sisci_dma_queue *queue = sisci_need(dq, SISCI_DMA_QUEUE, &result);
    if (queue != NULL) {
        result = sisci_dma_reset(queue);
        sisci_drop(&queue->object);
    }
    sisci_report(error, result);
}
