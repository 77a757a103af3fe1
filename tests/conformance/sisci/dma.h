/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What tests of DMA have in common: a local segment of A and a remote one of B's node. */
#ifndef TESTS_CONFORMANCE_SISCI_DMA_H
#define TESTS_CONFORMANCE_SISCI_DMA_H

#include "segments_peer.h"

enum {
    SOURCE = SEGMENT + 100, /* the id of A's segment */
    LONG_PART = 32 << 20,   /* bytes of each part of a long transfer */
};

/** The two sides, and a queue between them. */
struct dma {
    struct actor *b;
    sci_local_segment_t local; /**< prepared and not available */
    uint8_t *bytes;            /**< its memory */
    sci_remote_segment_t remote;
    sci_dma_queue_t queue;
    size_t size; /**< of both */
};

/** Start B, let it offer SEGMENT, and be A with all this. */
struct dma dma_begin(size_t size);

/** A queue of this process for that many entries. */
sci_dma_queue_t dma_queue(unsigned max_entries);

/** What the remote segment has, read by DMA over another queue. */
void dma_read_back(const struct dma *dma, void *bytes, size_t offset, size_t size);

/** Bytes that differ from place to place and from seed to seed. */
void dma_fill(uint8_t *bytes, size_t size, unsigned seed);

/** Start a transfer that takes a second or more, over LONG_PART bytes at most. */
sci_error_t dma_start_long(const struct dma *dma, sci_dma_queue_t queue, sci_cb_dma_t callback,
                           void *argument);

#endif
