/* SPDX-License-Identifier: BSD-3-Clause */
#include "dma.h"

sci_dma_queue_t dma_queue(unsigned max_entries)
{
    sci_dma_queue_t queue = NULL;
    SUCCEEDS(SCICreateDMAQueue, desc(), &queue, ADAPTER, max_entries, 0);
    return queue;
}

struct dma dma_begin(size_t size)
{
    struct dma dma = {.b = b_start(), .size = size};
    sci_map_t map;
    sci_error_t error;
    begin_as_a();
    S_OK(dma.b, offer, .id = SEGMENT, .size = size);
    await_connect(node_b(), SEGMENT, SCI_ERR_OK);
    SUCCEEDS(SCICreateSegment, desc(), &dma.local, SOURCE, size, NULL, NULL, 0);
    dma.bytes = SCIMapLocalSegment(dma.local, &map, 0, size, NULL, 0, &error);
    EXPECT(SCI_ERR_OK, error);
    SUCCEEDS(SCIPrepareSegment, dma.local, ADAPTER, 0);
    dma.remote = connected(node_b(), SEGMENT);
    dma.queue = dma_queue(1);
    return dma;
}

void dma_read_back(const struct dma *dma, void *bytes, size_t offset, size_t size)
{
    sci_dma_queue_t queue = dma_queue(1);
    SUCCEEDS(SCIStartDmaTransferMem, queue, bytes, dma->remote, size, offset, NULL, NULL,
             SCI_FLAG_DMA_READ | SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_USER_MEM);
    SUCCEEDS(SCIRemoveDMAQueue, queue, 0);
}

void dma_fill(uint8_t *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 251 + seed);
}

sci_error_t dma_start_long(const struct dma *dma, sci_dma_queue_t queue, sci_cb_dma_t callback,
                           void *argument)
{
    dis_dma_vec_t vec[DIS_DMA_MAX_VECLEN];
    memset(vec, 0, sizeof vec);
    for (unsigned i = 0; i < DIS_DMA_MAX_VECLEN; i++)
        vec[i].size = (unsigned)(dma->size < LONG_PART ? dma->size : LONG_PART);
    return ERROR_OF(SCIStartDmaTransferVec, queue, dma->local, dma->remote, DIS_DMA_MAX_VECLEN, vec,
                    callback, argument, callback != NULL ? SCI_FLAG_USE_CALLBACK : 0);
}
