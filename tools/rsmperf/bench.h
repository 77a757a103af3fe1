/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What an importer measures with: its connections to a lane, its memory, its partner. */
#pragma once

#include <rsmapi.h>
#include <sisci_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "limits.h"
#include "options.h"
#include "wire.h"

enum { ANSWER_MS = 10000 }; /* time limit for one answer of the remote side */

/** A connection and the barrier that implicit mode needs. */
struct link {
    rsm_memseg_import_handle_t handle;
    rsmapi_barrier_t barrier;
};

enum { SISCI_QUEUE_ENTRIES = 8 };

/** What an importer has to measure SISCI: a connection, its map, interrupts, a queue. */
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

struct bench {
    const struct options *options;
    uint32_t server_node, server_id;
    uint32_t own_node;
    rsmapi_controller_handle_t controller;
    struct wire_answer *answer; /**< exported */
    rsm_memseg_export_handle_t answer_segment;
    struct link command, data;
    uint32_t command_id;
    size_t page;
    size_t bytes;    /**< of the data segment, `buffer` and the partner's memory */
    size_t transfer; /**< bytes of one transfer of the gauge that is taken */
    uint8_t *buffer; /**< private */
    rsm_localmemory_handle_t registration; /**< of `buffer`; NULL: it was not asked for */
    void *spare;                           /**< a private page, to be exported */
    void *mapped;                          /**< the data segment, while a mapping is measured */
    uint8_t contents; /**< of `buffer`, where they have to differ from the last */
    struct partner partner;
    int plain;               /**< with --limit tcp: a TCP connection without librsm; -1: none */
    struct sisci_near sisci; /**< with --api sisci */
    const char *failed_call; /**< of the last failure */
};

/* All: RSM_SUCCESS, an error of RSMAPI or an enum trouble, with `failed_call`. */

/** Have the server make a lane, and connect to it. The partner must be there already. */
int bench_open(struct bench *bench, const struct options *options, uint32_t server_node,
               uint32_t server_id);
void bench_close(struct bench *bench);

/** Change the lane's mode. */
int bench_lane(struct bench *bench, enum wire_mode mode);
/** The same, where @p ask sends the command. */
int bench_lane_by(struct bench *bench, enum wire_mode mode, int (*ask)(struct bench *bench));

/** Post an event and wait, spinning, until the lane has answered it. */
int bench_ask(struct bench *bench);
/** The same by an event from the exporter of the answer page to its importer, the lane; in
 *  WIRE_NOTIFY. */
int bench_notify(struct bench *bench);

/** Remember which call failed. Returns @p error. */
int bench_failed(struct bench *bench, const char *call, int error);

/** What a SISCI call has reported, as one of these errors; the call is remembered. */
int sisci_failed(struct bench *bench, const char *call, sci_error_t error);

/** Spin until *word is no longer @p old; at most ANSWER_MS. */
int spin_until_not(const _Atomic uint64_t *word, uint64_t old);
