/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A server's thread and memory for one importer. */
#pragma once

#include <pthread.h>
#include <rsmapi.h>
#include <sisci_api.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "plain_tcp.h"
#include "wire.h"

/** What a lane has for an importer that measures SISCI: a segment and two interrupts. */
struct sisci_remote {
    bool initialized;
    sci_desc_t sd;
    sci_local_segment_t segment;
    sci_local_interrupt_t awaited, called; /**< without and with a callback */
    unsigned awaited_number, called_number;
};

struct lane {
    pthread_t thread;
    bool used;         /**< the thread is to be joined */
    atomic_bool ended; /**< ... and that will not take long */
    const atomic_bool *stopping;
    rsmapi_controller_handle_t controller;
    /* what the importer asked for, checked */
    uint32_t node, answer_id;
    size_t bytes;
    bool sisci;
    unsigned adapter; /**< of SISCI */
    const struct plain_server *plain;
    /* the thread's own */
    size_t page;
    struct wire_command *command;
    void *data;
    rsm_memseg_export_handle_t command_segment, data_segment;
    rsm_memseg_import_handle_t answer;
    rsmapi_barrier_t barrier;
    _Atomic uint64_t answers; /**< counted by the thread, or by the callback of the interrupt */
    struct sisci_remote remote;
};

/** Serve an importer until it has gone or *stopping. The first members are filled in. False: no
 *  thread. */
bool lane_start(struct lane *lane);
void lane_join(struct lane *lane);

/** Refuse a lane to an importer. */
void lane_refuse(rsmapi_controller_handle_t controller, uint32_t node, uint32_t answer_id);
