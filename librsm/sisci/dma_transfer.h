/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Transfers of DMA queues: what is moved between which memory, and moving it. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "sisci_types.h"

/** What a program asks for, unchecked: bytes of a remote segment and of the local side. */
struct sisci_dma_request {
    sci_local_segment_t segment; /**< the local side; not used if there is memory */
    void *memory;                /**< the local side is plain memory; NULL: it is a segment */
    sci_remote_segment_t remote;
    size_t local_offset, remote_offset, size;
    bool read;       /**< from remote to local */
    bool broadcast;  /**< the remote segment has to be a group */
    uint64_t ticket; /**< distinguishes it from others that a queue gathers */
};

struct sisci_dma_transfer;

/**
 * Make a transfer of @p count requests, 1 or more. All of them are checked, and their memory stays
 * until the transfer is released, whatever becomes of the segments. Meanwhile the segments are
 * busy.
 * @param adapter  on which local segments must be prepared, unless they are on another one.
 * @return SCI_ERR_OK; SCI_ERR_SIZE_ALIGNMENT: a size of 0; SCI_ERR_OUT_OF_RANGE;
 *         SCI_ERR_ILLEGAL_ADDRESS: memory that wraps around; SCI_ERR_SEGMENT_NOT_PREPARED,
 *         SCI_ERR_SEGMENT_NOT_CONNECTED; SCI_ERR_ILLEGAL_PARAMETER: no such segment; SCI_ERR_NOSPC;
 *         as sisci_local_map_make().
 */
sci_error_t sisci_dma_transfer_make(const struct sisci_dma_request *requests, unsigned count,
                                    unsigned adapter, struct sisci_dma_transfer **made);

/**
 * Move the bytes, in the order of the requests. On SCI_ERR_OK they have arrived.
 * @param stop  is looked at between pieces of some 100 KiB: true ends it with SCI_ERR_CANCELLED, as
 *              soon as the pieces have ended that the transport moves at that moment.
 * @return also SCI_ERR_NOT_CONNECTED, and what else the fabric says (SISCI_TRANSFER).
 */
sci_error_t sisci_dma_transfer_run(struct sisci_dma_transfer *transfer, const atomic_bool *stop);

/** Whether it takes about as long as waking a thread, on a fabric that moves bytes at once. */
bool sisci_dma_transfer_is_short(const struct sisci_dma_transfer *transfer);

/** Release it and the memory it is about. */
void sisci_dma_transfer_release(struct sisci_dma_transfer *transfer);
