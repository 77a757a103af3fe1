/* SPDX-License-Identifier: BSD-3-Clause */
/* SCIEnqueueDMATransfer(), SCIPostDMAQueue(): transfers that are gathered first */
#include <stdlib.h>
#include <string.h>

#include "dma_queue.h"
#include "export.h"

enum {
    ENQUEUE_FLAGS = SCI_FLAG_DMA_READ | SCI_FLAG_DMA_POST | SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_RESET |
                    SCI_FLAG_DMA_GLOBAL | SCI_FLAG_DMA_SYSDMA | SCI_FLAG_DMA_ADAPTER,
    ROOM_AT_FIRST = 8,
};

/* Segments are looked up now, and without the lock: until then they may be removed, and a program
 * that does so gets the error here. */
static sci_error_t post(struct sisci_dma_queue *queue, const struct sisci_dma_manner *manner)
{
    struct sisci_dma_engine *engine = queue->engine;
    struct sisci_dma_transfer *transfer;
    if (!sisci_dma_claim(engine))
        return SCI_ERR_ILLEGAL_OPERATION;
    sci_error_t error =
        sisci_dma_transfer_make(queue->requests, queue->entries, queue->adapter, &transfer);
    pthread_mutex_lock(&engine->lock);
    if (error == SCI_ERR_OK)
        return sisci_dma_post(queue, transfer, manner);
    sisci_dma_unclaim(engine);
    pthread_mutex_unlock(&engine->lock);
    return error;
}

SISCI_API(void, SCIPostDMAQueue)
(sci_dma_queue_t dq, sci_cb_dma_t callback, void *callbackArg, unsigned int flags,
 sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    bool calls_back = (flags & SCI_FLAG_USE_CALLBACK) != 0;
    const struct sisci_dma_manner manner = {.callback = calls_back ? callback : NULL,
                                            .argument = callbackArg};
    sci_error_t result = sisci_check(flags, SCI_FLAG_USE_CALLBACK);
    if (result == SCI_ERR_OK && calls_back && callback == NULL)
        result = SCI_ERR_ILLEGAL_PARAMETER;
    struct sisci_dma_queue *queue = sisci_need(dq, SISCI_DMA_QUEUE, &result);
    if (queue != NULL) {
        result = post(queue, &manner);
        sisci_drop(&queue->object);
    }
    sisci_report(error, result);
}

/* Called with the lock held. The room grows with what is gathered, not with what may be. */
static bool make_room(struct sisci_dma_queue *queue)
{
    if (queue->entries < queue->room)
        return true;
    unsigned room = queue->room == 0 ? ROOM_AT_FIRST : 2 * queue->room;
    struct sisci_dma_request *grown =
        room > queue->room ? reallocarray(queue->requests, room, sizeof *grown) : NULL;
    if (grown == NULL)
        return false;
    queue->requests = grown;
    queue->room = room;
    return true;
}

/* The entry gets a ticket. */
static sci_error_t gather(struct sisci_dma_queue *queue, struct sisci_dma_request *request)
{
    struct sisci_dma_engine *engine = queue->engine;
    sci_error_t error = SCI_ERR_OK;
    pthread_mutex_lock(&engine->lock);
    sci_dma_queue_state_t state = atomic_load(&engine->state);
    if (state != SCI_DMAQUEUE_IDLE && state != SCI_DMAQUEUE_GATHER)
        error = SCI_ERR_ILLEGAL_OPERATION;
    else if (queue->entries >= queue->max_entries)
        error = SCI_ERR_MAX_ENTRIES;
    else if (!make_room(queue))
        error = SCI_ERR_NOSPC;
    if (error == SCI_ERR_OK) {
        request->ticket = ++queue->tickets;
        queue->requests[queue->entries++] = *request;
        sisci_dma_set_state(engine, SCI_DMAQUEUE_GATHER);
    }
    pthread_mutex_unlock(&engine->lock);
    return error;
}

/* Called with the lock held. */
static void drop_entry(struct sisci_dma_queue *queue, unsigned at)
{
    struct sisci_dma_request *entry = &queue->requests[at];
    memmove(entry, entry + 1, (--queue->entries - at) * sizeof *entry);
    if (queue->entries == 0)
        sisci_dma_set_state(queue->engine, SCI_DMAQUEUE_IDLE);
}

/* An entry was to be posted, and was not. Others may have dropped or posted it meanwhile, and the
 * queue may have theirs. */
static void take_back(struct sisci_dma_queue *queue, uint64_t ticket)
{
    struct sisci_dma_engine *engine = queue->engine;
    pthread_mutex_lock(&engine->lock);
    if (atomic_load(&engine->state) == SCI_DMAQUEUE_GATHER) {
        unsigned at = 0;
        while (at < queue->entries && queue->requests[at].ticket != ticket)
            at++;
        if (at < queue->entries)
            drop_entry(queue, at);
    }
    pthread_mutex_unlock(&engine->lock);
}

/* Whether it may be transferred at all. */
static sci_error_t try_request(const struct sisci_dma_queue *queue,
                               const struct sisci_dma_request *request)
{
    struct sisci_dma_transfer *transfer;
    sci_error_t error = sisci_dma_transfer_make(request, 1, queue->adapter, &transfer);
    if (error == SCI_ERR_OK)
        sisci_dma_transfer_release(transfer);
    return error;
}

static sci_error_t enqueue(struct sisci_dma_queue *queue, struct sisci_dma_request *request,
                           unsigned flags)
{
    const struct sisci_dma_manner manner = {.wait = (flags & SCI_FLAG_DMA_WAIT) != 0};
    sci_error_t error = try_request(queue, request);
    if (error == SCI_ERR_OK)
        error = gather(queue, request);
    if (error != SCI_ERR_OK || (flags & SCI_FLAG_DMA_POST) == 0)
        return error;
    error = post(queue, &manner);
    if (error != SCI_ERR_OK)
        take_back(queue, request->ticket);
    if ((flags & SCI_FLAG_DMA_RESET) != 0 &&
        atomic_load(&queue->engine->state) != SCI_DMAQUEUE_GATHER)
        (void)sisci_dma_reset(queue); /* also where the transfer has failed */
    return error;
}

/* Each of POST, WAIT and RESET needs those before it. */
static sci_error_t check_flags(unsigned flags)
{
    bool posts = (flags & SCI_FLAG_DMA_POST) != 0, waits = (flags & SCI_FLAG_DMA_WAIT) != 0;
    bool resets = (flags & SCI_FLAG_DMA_RESET) != 0;
    sci_error_t error = sisci_check(flags, ENQUEUE_FLAGS);
    return error == SCI_ERR_OK && ((waits && !posts) || (resets && !waits)) ? SCI_ERR_ILLEGAL_FLAG
                                                                            : error;
}

SISCI_API(sci_dma_queue_state_t, SCIEnqueueDMATransfer)
(sci_dma_queue_t dq, sci_local_segment_t localSegment, sci_remote_segment_t remoteSegment,
 unsigned int localOffset, unsigned int remoteOffset, unsigned int size, unsigned int flags,
 sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    struct sisci_dma_request request = {.segment = localSegment,
                                        .remote = remoteSegment,
                                        .local_offset = localOffset,
                                        .remote_offset = remoteOffset,
                                        .size = size,
                                        .read = (flags & SCI_FLAG_DMA_READ) != 0};
    sci_dma_queue_state_t state = SCI_DMAQUEUE_ERROR;
    sci_error_t result = check_flags(flags);
    struct sisci_dma_queue *queue = sisci_need(dq, SISCI_DMA_QUEUE, &result);
    if (queue != NULL) {
        result = enqueue(queue, &request, flags);
        state = atomic_load(&queue->engine->state);
        sisci_drop(&queue->object);
    }
    sisci_report(error, result);
    return state;
}
