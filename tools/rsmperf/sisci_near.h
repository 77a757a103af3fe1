/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What an importer has to measure SISCI: a connection, its map, interrupts, a queue. */
#ifndef RSMPERF_SISCI_NEAR_H
#define RSMPERF_SISCI_NEAR_H

#include <sisci_api.h>
#include <stdbool.h>

struct bench;

enum { SISCI_QUEUE_ENTRIES = 8 };

struct sisci_near {
    bool initialized;
    sci_desc_t sd;
    sci_remote_segment_t segment;
    sci_map_t map;
    volatile void *mapped;
    sci_remote_interrupt_t awaited, called; /**< of a lane: without and with a callback */
    sci_local_segment_t source;             /**< of transfers by DMA */
    sci_dma_queue_t queue;
    void *rsm_mapped; /**< the data segment, by RSMAPI, beside which stores are compared */
};

/** Connect to what the lane has put into the answer page. As those of bench.h. */
int sisci_near_open(struct bench *bench);
void sisci_near_close(struct bench *bench);

/** What a SISCI call has reported, as an error of bench.h; the call is remembered. */
int sisci_failed(struct bench *bench, const char *call, sci_error_t error);

#endif
