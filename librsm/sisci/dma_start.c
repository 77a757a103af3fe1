/* SPDX-License-Identifier: BSD-3-Clause */
/* SCIStartDmaTransfer() and its kin */
#include <stdlib.h>

#include "dma_queue.h"
#include "export.h"

enum {
    /* Those that choose an engine change nothing. */
    START_FLAGS = SCI_FLAG_USE_CALLBACK | SCI_FLAG_DMA_READ | SCI_FLAG_DMA_WAIT |
                  SCI_FLAG_DMA_GLOBAL | SCI_FLAG_DMA_SYSDMA | SCI_FLAG_DMA_ADAPTER |
                  SCI_FLAG_BROADCAST,
};

static sci_error_t check_flags(unsigned flags, unsigned known, sci_cb_dma_t callback)
{
    bool calls_back = (flags & SCI_FLAG_USE_CALLBACK) != 0;
    sci_error_t error = sisci_check(flags, known);
    if (error != SCI_ERR_OK)
        return error;
    if (calls_back && (flags & SCI_FLAG_DMA_WAIT) != 0)
        return SCI_ERR_ILLEGAL_FLAG;
    return calls_back && callback == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK;
}

static bool can_start(sci_dma_queue_state_t state)
{
    return state != SCI_DMAQUEUE_GATHER && state != SCI_DMAQUEUE_POSTED;
}

static sci_error_t start_on(struct sisci_dma_queue *queue, const struct sisci_dma_request *requests,
                            unsigned count, const struct sisci_dma_manner *manner)
{
    struct sisci_dma_transfer *transfer;
    struct sisci_dma_engine *engine = queue->engine;
    if (!can_start(atomic_load(&engine->state)))
        return SCI_ERR_ILLEGAL_OPERATION;
    sci_error_t error = sisci_dma_transfer_make(requests, count, queue->adapter, &transfer);
    if (error != SCI_ERR_OK)
        return error;
    pthread_mutex_lock(&engine->lock);
    if (can_start(atomic_load(&engine->state)))
        return sisci_dma_post(queue, transfer, manner);
    pthread_mutex_unlock(&engine->lock);
    sisci_dma_transfer_release(transfer);
    return SCI_ERR_ILLEGAL_OPERATION;
}

/* What a program has asked for, its flags being checked. */
static sci_error_t start(sci_dma_queue_t handle, const struct sisci_dma_request *requests,
                         unsigned count, sci_cb_dma_t callback, void *argument, unsigned flags)
{
    const struct sisci_dma_manner manner = {
        .wait = (flags & SCI_FLAG_DMA_WAIT) != 0,
        .callback = (flags & SCI_FLAG_USE_CALLBACK) != 0 ? callback : NULL,
        .argument = argument};
    struct sisci_dma_queue *queue = sisci_hold(handle, SISCI_DMA_QUEUE);
    if (queue == NULL)
        return SCI_ERR_ILLEGAL_PARAMETER;
    sci_error_t error = start_on(queue, requests, count, &manner);
    sisci_drop(&queue->object);
    return error;
}

SISCI_API(void, SCIStartDmaTransfer)
(sci_dma_queue_t dq, sci_local_segment_t localSegment, sci_remote_segment_t remoteSegment,
 size_t localOffset, size_t size, size_t remoteOffset, sci_cb_dma_t callback, void *callbackArg,
 unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    const struct sisci_dma_request request = {.segment = localSegment,
                                              .remote = remoteSegment,
                                              .local_offset = localOffset,
                                              .remote_offset = remoteOffset,
                                              .size = size,
                                              .read = (flags & SCI_FLAG_DMA_READ) != 0,
                                              .broadcast = (flags & SCI_FLAG_BROADCAST) != 0};
    sci_error_t result = check_flags(flags, START_FLAGS, callback);
    if (result == SCI_ERR_OK)
        result = start(dq, &request, 1, callback, callbackArg, flags);
    sisci_report(error, result);
}

SISCI_API(void, SCIStartDmaTransferMem)
(sci_dma_queue_t dq, void *localAddress, sci_remote_segment_t remoteSegment, size_t size,
 size_t remoteOffset, sci_cb_dma_t callback, void *callbackArg, unsigned int flags,
 sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    const struct sisci_dma_request request = {.memory = localAddress,
                                              .remote = remoteSegment,
                                              .remote_offset = remoteOffset,
                                              .size = size,
                                              .read = (flags & SCI_FLAG_DMA_READ) != 0,
                                              .broadcast = (flags & SCI_FLAG_BROADCAST) != 0};
    sci_error_t result = check_flags(flags, START_FLAGS | SCI_FLAG_DMA_USER_MEM, callback);
    if (result == SCI_ERR_OK && localAddress == NULL)
        result = SCI_ERR_ILLEGAL_ADDRESS;
    if (result == SCI_ERR_OK)
        result = start(dq, &request, 1, callback, callbackArg, flags);
    sisci_report(error, result);
}

static void fill(struct sisci_dma_request *requests, const struct sisci_dma_request *common,
                 const dis_dma_vec_t *vec, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        requests[i] = *common;
        requests[i].local_offset = vec[i].local_offset;
        requests[i].remote_offset = vec[i].remote_offset;
        requests[i].size = vec[i].size;
    }
}

static sci_error_t check_vector(size_t veclen, const dis_dma_vec_t *vec)
{
    if (veclen > DIS_DMA_MAX_VECLEN)
        return SCI_ERR_MAX_ENTRIES;
    return veclen == 0 || vec == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK;
}

SISCI_API(void, SCIStartDmaTransferVec)
(sci_dma_queue_t dq, sci_local_segment_t localSegment, sci_remote_segment_t remoteSegment,
 size_t veclen, dis_dma_vec_t *vec, sci_cb_dma_t callback, void *callbackArg, unsigned int flags,
 sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    const struct sisci_dma_request common = {.segment = localSegment,
                                             .remote = remoteSegment,
                                             .read = (flags & SCI_FLAG_DMA_READ) != 0,
                                             .broadcast = (flags & SCI_FLAG_BROADCAST) != 0};
    struct sisci_dma_request *requests = NULL;
    sci_error_t result = check_flags(flags, START_FLAGS, callback);
    if (result == SCI_ERR_OK)
        result = check_vector(veclen, vec);
    if (result == SCI_ERR_OK && (requests = calloc(veclen, sizeof *requests)) == NULL)
        result = SCI_ERR_NOSPC;
    if (result == SCI_ERR_OK) {
        fill(requests, &common, vec, veclen);
        result = start(dq, requests, (unsigned)veclen, callback, callbackArg, flags);
    }
    free(requests);
    sisci_report(error, result);
}

SISCI_API(void, DISStartDmaTransfer)
(sci_dma_queue_t dq, sci_local_segment_t localSegment, sci_remote_segment_t remoteSegment,
 size_t localOffset, size_t size, size_t remoteOffset, sci_cb_dma_t callback, void *callbackArg,
 unsigned int flags, sci_error_t *error)
{
    SCIStartDmaTransfer(dq, localSegment, remoteSegment, localOffset, size, remoteOffset, callback,
                        callbackArg, flags, error);
}

SISCI_API(void, DISStartDmaTransferVec)
(sci_dma_queue_t dq, sci_local_segment_t localSegment, sci_remote_segment_t remoteSegment,
 size_t veclen, dis_dma_vec_t *vec, sci_cb_dma_t callback, void *callbackArg, unsigned int flags,
 sci_error_t *error)
{
    SCIStartDmaTransferVec(dq, localSegment, remoteSegment, veclen, vec, callback, callbackArg,
                           flags, error);
}
