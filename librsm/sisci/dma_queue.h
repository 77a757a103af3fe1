/* SPDX-License-Identifier: BSD-3-Clause */
/** @file DMA queues. A queue has up to two listeners: one that moves bytes, begun by the first
 *  transfer that the program does not wait for, and one that calls the program, begun by the first
 *  transfer with a callback. So a callback may start the next transfer of its own queue and wait
 *  for it. The thread that has moved the bytes goes on to call the program. */
#pragma once

#include <pthread.h>

#include "dma_transfer.h"
#include "listener.h"
#include "object.h"
#include "sisci_api.h"

struct sisci_dma_call;

/** What the listeners of a queue work on. The queue holds it, and each of them does. */
struct sisci_dma_engine {
    atomic_uint holders;
    _Atomic(sci_dma_queue_state_t) state; /**< changed under the lock */
    atomic_bool stop;                     /**< end the transfer that is posted */
    pthread_mutex_t lock;                 /**< guards what follows */
    pthread_cond_t changed;               /**< signalled when the state changes */
    bool ended;          /**< the queue is being ended: nothing is posted any more */
    bool silent;         /**< ... in a callback of its own: the program is not called any more */
    bool calls_back;     /**< the latest transfer has a callback */
    uint64_t posts;      /**< how often something was posted */
    sci_error_t outcome; /**< of the latest transfer; SCI_ERR_OK while there is none */
    struct sisci_listener *mover, *caller; /**< NULL: not needed yet */
    struct sisci_dma_call *posted;         /**< for the mover; NULL: nothing */
    struct sisci_dma_call *calls;          /**< for the caller, the oldest first */
    sci_dma_queue_t handle;
};

struct sisci_dma_queue {
    struct sisci_object object;
    struct sisci_dma_engine *engine;
    unsigned adapter;
    /* The engine's lock guards what follows. */
    unsigned max_entries, entries, room;
    uint64_t tickets;                   /**< how many entries it has gathered in its life */
    struct sisci_dma_request *requests; /**< those gathered */
};

/** How a transfer is carried out. */
struct sisci_dma_manner {
    bool wait;             /**< by the calling thread */
    sci_cb_dma_t callback; /**< NULL: none */
    void *argument;
};

/**
 * Post a transfer, which belongs to the queue from then on, in any case. The queue is in a state
 * from which that is possible, or the caller has claimed it. Called with the engine's lock held,
 * which is released.
 * @return SCI_ERR_OK; SCI_ERR_NOSPC, SCI_ERR_CANCELLED: nothing has changed; if it was waited for,
 *         what became of it.
 */
sci_error_t sisci_dma_post(struct sisci_dma_queue *queue, struct sisci_dma_transfer *transfer,
                           const struct sisci_dma_manner *manner);

/** Claim a queue that has gathered something: it is POSTED, and what it has gathered is the
 *  caller's to read. False: it is in another state. */
bool sisci_dma_claim(struct sisci_dma_engine *engine);
/** The claimed queue gathers again. Called with the lock held. */
void sisci_dma_unclaim(struct sisci_dma_engine *engine);

/** Change the state, and wake waiting threads. Called with the lock held. Each change to POSTED is
 *  a new transfer. */
void sisci_dma_set_state(struct sisci_dma_engine *engine, sci_dma_queue_state_t state);

/** For the end of the transfer that is posted, if one is; not of those that follow it. */
struct sisci_dma_wait {
    struct sisci_dma_engine *engine;
    uint64_t posts; /**< of the engine, when the wait began */
};
/** An attempt for sisci_wait(), on a struct sisci_dma_wait. */
enum rsm_status sisci_dma_await(void *argument, int timeout_ms);
/** Carry the transfer out in this thread, which is about to wait for it, if no thread has begun it
 *  and it is short. The thread cannot be cancelled in it. */
void sisci_dma_take_over(const struct sisci_dma_wait *wait);

/** NULL: no memory. */
struct sisci_dma_engine *sisci_dma_engine_make(void);
void sisci_dma_engine_drop(struct sisci_dma_engine *engine);

/** Drop what has been gathered, and be idle. SCI_ERR_ILLEGAL_OPERATION: a transfer is posted. */
sci_error_t sisci_dma_reset(struct sisci_dma_queue *queue);
