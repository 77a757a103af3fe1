/* SPDX-License-Identifier: BSD-3-Clause */
/* DMA queues against hostile arguments; what transfers may be between; queries. */
#include "dma.h"

/* ---------------------------------------------------------------- hostile arguments */

static void refuse_queue(const struct dma *dma, sci_dma_queue_t handle)
{
    const sci_error_t refused = SCI_ERR_ILLEGAL_PARAMETER;
    dis_dma_vec_t vec = {1, 0, 0, 0};
    char byte;
    HOLDS(SCIDMAQueueState(handle) == SCI_DMAQUEUE_ERROR);
    GIVES(refused, SCIRemoveDMAQueue, handle, 0);
    GIVES(refused, SCIAbortDMAQueue, handle, 0);
    GIVES(refused, SCIResetDMAQueue, handle, 0);
    GIVES(refused, SCIWaitForDMAQueue, handle, SCI_INFINITE_TIMEOUT, 0);
    GIVES(refused, SCIPostDMAQueue, handle, NULL, NULL, 0);
    GIVES(refused, SCIEnqueueDMATransfer, handle, dma->local, dma->remote, 0, 0, 1, 0);
    GIVES(refused, SCIStartDmaTransfer, handle, dma->local, dma->remote, 0, 1, 0, NULL, NULL, 0);
    GIVES(refused, SCIStartDmaTransferVec, handle, dma->local, dma->remote, 1, &vec, NULL, NULL, 0);
    GIVES(refused, SCIStartDmaTransferMem, handle, &byte, dma->remote, 1, 0, NULL, NULL, 0);
    GIVES(refused, DISStartDmaTransfer, handle, dma->local, dma->remote, 0, 1, 0, NULL, NULL, 0);
    GIVES(refused, DISStartDmaTransferVec, handle, dma->local, dma->remote, 1, &vec, NULL, NULL, 0);
}

static void refuse_segments(const struct dma *dma, void *local, void *remote)
{
    const sci_error_t refused = SCI_ERR_ILLEGAL_PARAMETER;
    dis_dma_vec_t vec = {1, 0, 0, 0};
    GIVES(refused, SCIStartDmaTransfer, dma->queue, local, remote, 0, 1, 0, NULL, NULL, 0);
    GIVES(refused, SCIStartDmaTransferVec, dma->queue, local, remote, 1, &vec, NULL, NULL,
          SCI_FLAG_DMA_WAIT);
    GIVES(refused, DISStartDmaTransfer, dma->queue, local, remote, 0, 1, 0, NULL, NULL, 0);
    GIVES(refused, DISStartDmaTransferVec, dma->queue, local, remote, 1, &vec, NULL, NULL,
          SCI_FLAG_DMA_WAIT);
    GIVES(refused, SCIEnqueueDMATransfer, dma->queue, local, remote, 0, 0, 1, SCI_FLAG_DMA_POST);
    HOLDS(SCIDMAQueueState(dma->queue) == SCI_DMAQUEUE_IDLE);
}

CONFORMANCE(X, 80, "handles that are none, stale, or of another kind are refused by DMA, too")
{
    struct dma dma = dma_begin(SIZE);
    sci_dma_queue_t stale = dma_queue(1);
    sci_remote_segment_t gone = connected(node_b(), SEGMENT);
    SUCCEEDS(SCIRemoveDMAQueue, stale, 0);
    SUCCEEDS(SCIDisconnectSegment, gone, 0);
    for (unsigned i = 0; i < NO_HANDLES; i++) {
        sci_dma_queue_t made = dma.queue;
        GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCICreateDMAQueue, no_handle(i), &made, ADAPTER, 1, 0);
        HOLDS(made == NULL);
        refuse_queue(&dma, no_handle(i));
        refuse_segments(&dma, no_handle(i), dma.remote);
        refuse_segments(&dma, dma.local, no_handle(i));
    }
    refuse_queue(&dma, stale);
    refuse_queue(&dma, (sci_dma_queue_t)(void *)dma.local);
    refuse_segments(&dma, dma.remote, dma.local);
    refuse_segments(&dma, dma.queue, dma.queue);
    refuse_segments(&dma, dma.local, gone);
}

static sci_callback_action_t no_callback(void *argument, sci_dma_queue_t queue, sci_error_t status)
{
    atomic_fetch_add((atomic_uint *)argument, 1);
    return SCI_CALLBACK_CONTINUE;
}

static sci_error_t start_with(const struct dma *dma, unsigned flags, sci_cb_dma_t callback,
                              atomic_uint *calls)
{
    return ERROR_OF(SCIStartDmaTransfer, dma->queue, dma->local, dma->remote, 0, 1, 0, callback,
                    calls, flags);
}

CONFORMANCE(X, 81, "flags, callbacks and addresses that DMA does not have are refused")
{
    enum { ALL_BYTES = 8 };
    static const struct timespec moment = {0, 1000000};
    uint8_t bytes[ALL_BYTES] = {0};
    dis_dma_vec_t vec = {1, 0, 0, 0};
    atomic_uint calls = 0;
    sci_dma_queue_t queue;
    struct dma dma = dma_begin(SIZE);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCICreateDMAQueue, desc(), NULL, ADAPTER, 1, 0);
    GIVES(SCI_ERR_NO_SUCH_ADAPTERNO, SCICreateDMAQueue, desc(), &queue, 63, 1, 0);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCICreateDMAQueue, desc(), &queue, ADAPTER, 1, 1);
    EXPECT(SCI_ERR_ILLEGAL_FLAG, start_with(&dma, 2, no_callback, &calls));
    EXPECT(SCI_ERR_ILLEGAL_FLAG, start_with(&dma, SCI_FLAG_DMA_USER_MEM, no_callback, &calls));
    EXPECT(SCI_ERR_ILLEGAL_FLAG,
           start_with(&dma, SCI_FLAG_USE_CALLBACK | SCI_FLAG_DMA_WAIT, no_callback, &calls));
    EXPECT(SCI_ERR_ILLEGAL_FLAG, start_with(&dma, SCI_FLAG_BROADCAST, no_callback, &calls));
    EXPECT(SCI_ERR_ILLEGAL_PARAMETER, start_with(&dma, SCI_FLAG_USE_CALLBACK, NULL, &calls));
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIPostDMAQueue, dma.queue, NULL, NULL, SCI_FLAG_USE_CALLBACK);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIPostDMAQueue, dma.queue, NULL, NULL, SCI_FLAG_DMA_WAIT);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIRemoveDMAQueue, dma.queue, 1);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIAbortDMAQueue, dma.queue, 1);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIResetDMAQueue, dma.queue, 1);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIWaitForDMAQueue, dma.queue, 0, 1);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIEnqueueDMATransfer, dma.queue, dma.local, dma.remote, 0, 0, 1,
          SCI_FLAG_DMA_WAIT);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIEnqueueDMATransfer, dma.queue, dma.local, dma.remote, 0, 0, 1,
          SCI_FLAG_DMA_POST | SCI_FLAG_DMA_RESET);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIStartDmaTransferVec, dma.queue, dma.local, dma.remote, 1,
          NULL, NULL, NULL, 0);
    GIVES(SCI_ERR_MAX_ENTRIES, SCIStartDmaTransferVec, dma.queue, dma.local, dma.remote, SIZE_MAX,
          &vec, NULL, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_ADDRESS, SCIStartDmaTransferMem, dma.queue, NULL, dma.remote, 1, 0, NULL,
          NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_ADDRESS, SCIStartDmaTransferMem, dma.queue, (void *)(UINTPTR_MAX - 3),
          dma.remote, ALL_BYTES, 0, NULL, NULL, 0);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCIStartDmaTransferMem, dma.queue, bytes, dma.remote, ALL_BYTES,
          SIZE - 7, NULL, NULL, 0);
    HOLDS(SCIDMAQueueState(dma.queue) == SCI_DMAQUEUE_IDLE);
    nanosleep(&moment, NULL);
    HOLDS(atomic_load(&calls) == 0);
    SCIRemoveDMAQueue(dma.queue, 0, NULL);
    HOLDS(SCIDMAQueueState(dma.queue) == SCI_DMAQUEUE_ERROR);
}

/* The former names, with the same arguments. */
CONFORMANCE(X, 95, "the functions with DIS in their names check what the others do")
{
    dis_dma_vec_t vec[2] = {{SIZE, 0, 0, 0}, {SIZE, 1, 0, 0}};
    struct dma dma = dma_begin(SIZE);
    sci_dma_queue_t queue = dma.queue;
    const size_t huge[] = {SIZE + 1, SIZE_MAX, SIZE_MAX - SIZE, (size_t)1 << 63};
    for (unsigned i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        GIVES(SCI_ERR_OUT_OF_RANGE, DISStartDmaTransfer, queue, dma.local, dma.remote, huge[i], 1,
              0, NULL, NULL, 0);
        GIVES(SCI_ERR_OUT_OF_RANGE, DISStartDmaTransfer, queue, dma.local, dma.remote, 0, huge[i],
              0, NULL, NULL, 0);
        GIVES(SCI_ERR_OUT_OF_RANGE, DISStartDmaTransfer, queue, dma.local, dma.remote, 0, 1,
              huge[i], NULL, NULL, SCI_FLAG_DMA_READ);
        GIVES(SCI_ERR_MAX_ENTRIES, DISStartDmaTransferVec, queue, dma.local, dma.remote, huge[i],
              vec, NULL, NULL, 0);
    }
    GIVES(SCI_ERR_OUT_OF_RANGE, DISStartDmaTransferVec, queue, dma.local, dma.remote, 2, vec, NULL,
          NULL, SCI_FLAG_DMA_WAIT);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, DISStartDmaTransferVec, queue, dma.local, dma.remote, 0, vec,
          NULL, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, DISStartDmaTransferVec, queue, dma.local, dma.remote, 1, NULL,
          NULL, NULL, 0);
    GIVES(SCI_ERR_SIZE_ALIGNMENT, DISStartDmaTransfer, queue, dma.local, dma.remote, 0, 0, 0, NULL,
          NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_FLAG, DISStartDmaTransfer, queue, dma.local, dma.remote, 0, 1, 0, NULL,
          NULL, 2);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, DISStartDmaTransferVec, queue, dma.local, dma.remote, 1, vec,
          NULL, NULL, SCI_FLAG_USE_CALLBACK);
    DISStartDmaTransfer(NULL, NULL, NULL, 0, 1, 0, NULL, NULL, 0, NULL);
    DISStartDmaTransferVec(NULL, NULL, NULL, 1, NULL, NULL, NULL, 0, NULL);
    HOLDS(SCIDMAQueueState(queue) == SCI_DMAQUEUE_IDLE);
    SUCCEEDS(DISStartDmaTransferVec, queue, dma.local, dma.remote, 1, vec, NULL, NULL,
             SCI_FLAG_DMA_WAIT);
    HOLDS(SCIDMAQueueState(queue) == SCI_DMAQUEUE_DONE);
}

CONFORMANCE(X, 82,
            "a gathered segment may be removed, and posting it then fails and changes nothing")
{
    sci_local_segment_t other;
    struct dma dma = dma_begin(SIZE);
    sci_dma_queue_t queue = dma_queue(UINT32_MAX);
    SUCCEEDS(SCICreateSegment, desc(), &other, SOURCE + 1, SIZE, NULL, NULL, SCI_FLAG_PRIVATE);
    SUCCEEDS(SCIPrepareSegment, other, ADAPTER, 0);
    for (unsigned i = 0; i < 100; i++)
        SUCCEEDS(SCIEnqueueDMATransfer, queue, i % 2 != 0 ? other : dma.local, dma.remote, 0, i, 1,
                 i % 3 != 0 ? SCI_FLAG_DMA_READ : 0);
    SUCCEEDS(SCIRemoveSegment, other, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIPostDMAQueue, queue, NULL, NULL, 0);
    HOLDS(SCIDMAQueueState(queue) == SCI_DMAQUEUE_GATHER);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIEnqueueDMATransfer, queue, dma.local, dma.remote, 0, 0, 1,
          SCI_FLAG_DMA_POST | SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_RESET);
    HOLDS(SCIDMAQueueState(queue) == SCI_DMAQUEUE_GATHER);
    SUCCEEDS(SCIResetDMAQueue, queue, 0);
    SUCCEEDS(SCIEnqueueDMATransfer, queue, dma.local, dma.remote, 0, 0, 1, SCI_FLAG_DMA_POST);
    HOLDS(SCIWaitForDMAQueue(queue, LONG_MS, 0, NULL) == SCI_DMAQUEUE_DONE);
}

CONFORMANCE(X, 83, "what another process has made and prepared can be the local side")
{
    static uint8_t back[SIZE];
    sci_local_segment_t attached;
    sci_map_t map;
    sci_error_t error;
    struct actor *owner = exporter_start();
    struct dma dma = dma_begin(SIZE);
    S_OK(owner, create, .id = SOURCE + 1, .size = SIZE, .flags = SCI_FLAG_SHARED);
    SUCCEEDS(SCIAttachLocalSegment, desc(), &attached, SOURCE + 1, NULL, NULL, NULL, 0);
    GIVES(SCI_ERR_SEGMENT_NOT_PREPARED, SCIStartDmaTransfer, dma.queue, attached, dma.remote, 0, 1,
          0, NULL, NULL, 0);
    S_OK(owner, prepare, .slot = 0);
    uint8_t *bytes = SCIMapLocalSegment(attached, &map, 0, SIZE, NULL, 0, &error);
    EXPECT(SCI_ERR_OK, error);
    dma_fill(bytes, SIZE, 8);
    SUCCEEDS(SCIStartDmaTransfer, dma.queue, attached, dma.remote, 1, SIZE - 2, 2, NULL, NULL,
             SCI_FLAG_DMA_WAIT);
    dma_read_back(&dma, back, 0, SIZE);
    HOLDS(memcmp(back + 2, bytes + 1, SIZE - 2) == 0);
}

/* ---------------------------------------------------------------- queries */

CONFORMANCE(X, 92, "queries of DMA tell what transfers can do")
{
    unsigned available = 0;
    sci_dma_capabilities_t can = {0};
    sci_query_dma_t query = {ADAPTER, SCI_Q_DMA_AVAILABLE, &available};
    begin_as_a();
    SUCCEEDS(SCIQuery, SCI_Q_DMA, &query, SCI_FLAG_DMA_SYSDMA);
    HOLDS(available == 1);
    query.subcommand = SCI_Q_DMA_CAPABILITIES;
    query.data = &can;
    SUCCEEDS(SCIQuery, SCI_Q_DMA, &query, SCI_FLAG_DMA_ADAPTER);
    HOLDS(can.num_channels >= 1 && can.max_transfer_size >= SIZE && can.min_align_bytes == 1);
    HOLDS(can.max_vector_length == DIS_DMA_MAX_VECLEN && can.suggested_align_bytes >= 1);
    HOLDS(can.support_mem2io == 1 && can.support_io2mem == 1);
    query.subcommand = 0;
    GIVES(SCI_ERR_ILLEGAL_QUERY, SCIQuery, SCI_Q_DMA, &query, 0);
    query = (sci_query_dma_t){ADAPTER, SCI_Q_DMA_CAPABILITIES, NULL};
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIQuery, SCI_Q_DMA, &query, 0);
    query = (sci_query_dma_t){63, SCI_Q_DMA_AVAILABLE, &available};
    GIVES(SCI_ERR_NO_SUCH_ADAPTERNO, SCIQuery, SCI_Q_DMA, &query, 0);
}
