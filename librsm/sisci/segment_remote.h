/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Remote segments: connections of this process. */
#pragma once

#include <pthread.h>

#include "core/import.h"
#include "listener.h"
#include "object.h"
#include "segment_events.h"
#include "segment_states.h"

/** The connection behind a remote segment. The segment holds it, its listener does,
 *  and transfers of DMA do. */
struct sisci_connection {
    atomic_uint holders;
    atomic_uint transfers;                 /**< of DMA, which hold it, too */
    struct rsmcore_import *_Atomic import; /**< NULL: not connected yet, or never */
    pthread_mutex_t lock;                  /**< guards what follows */
    struct rsmcore_records *records;       /**< NULL: events have not been requested */
    bool cancelled;
    _Atomic(enum sisci_remote_state) state;
    /* For callbacks: */
    sci_cb_remote_segment_t callback;
    void *argument;
    sci_remote_segment_t handle;
    bool begin_reported; /**< that it is operational, or never will be */
    /* The segment to connect to. */
    struct rsmcore_controller *controller; /**< held */
    unsigned node, id, adapter;
    bool broadcast; /**< to all members of a group */
};

struct sisci_remote_segment {
    struct sisci_object object;
    struct sisci_connection *connection;
    bool calls_back;
    struct sisci_listener *listener;
};

extern const struct sisci_type sisci_remote_type;

/** A transfer of DMA begins and ends. It begins with a segment of the connection held. Meanwhile
 *  the segment cannot be disconnected, and if it ends nevertheless the connection stays. */
void sisci_connection_use(struct sisci_connection *connection);
void sisci_connection_unuse(struct sisci_connection *connection);

/** Its connection in the core; NULL: it is not connected. */
static inline struct rsmcore_import *sisci_remote_import(const struct sisci_remote_segment *segment)
{
    return atomic_load_explicit(&segment->connection->import, memory_order_acquire);
}
