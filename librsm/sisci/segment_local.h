/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Local segments: those that this process has made, or has attached to. */
#pragma once

#include <pthread.h>

#include "adapter.h"
#include "listener.h"
#include "object.h"
#include "segment_events.h"
#include "segment_memory.h"
#include "segment_states.h"

/** What the listener of a segment works on. */
struct sisci_local_source {
    struct rsmcore_records *records;
    sci_cb_local_segment_t callback;
    void *argument;
    sci_local_segment_t handle;
    atomic_bool ended;
};

struct sisci_local_segment {
    struct sisci_object object;
    struct sisci_memory *memory;
    unsigned id;
    size_t size; /**< as the program said; whole pages may be behind it */
    enum rsm_id_space space;
    bool is_empty, is_private, calls_back;
    pthread_mutex_t lock; /**< guards what follows */
    /** enum sisci_local_state, as last seen: attached processes change them, too */
    uint8_t states[SISCI_ADAPTERS_MAX];
    uint64_t dma_only; /**< adapters that it is prepared on for DMA alone, by bits */
    bool published, shared, cancelled;
    struct sisci_local_source *source; /**< NULL: events have not been requested */
    struct sisci_listener *listener;
    struct sisci_flags *flags; /**< what stores raise; NULL: nothing */
};

extern const struct sisci_type sisci_local_type;

/** Let events be kept from now on. Called with the lock held. */
sci_error_t sisci_local_need_events(struct sisci_local_segment *segment);

/** Whether it is prepared on some adapter. Of @p adapter the daemon is asked, if need be: another
 *  process may have prepared it. */
bool sisci_local_is_prepared(struct sisci_local_segment *segment, unsigned adapter);
