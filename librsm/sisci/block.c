/* SPDX-License-Identifier: BSD-3-Clause */
/* SCITransferBlockAsync(), SCIWaitForBlockTransfer(), SCIAbortBlockTransfer() */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "core/barrier.h"
#include "export.h"
#include "listener.h"
#include "map.h"

enum {
    PIECE_BYTES = 256 * 1024, /* between two looks whether it is to stop */
};

/* What the thread works on. It outlasts the transfer's handle where that ends in the callback. */
struct source {
    struct sisci_map *from; /* held until the bytes have arrived */
    struct sisci_map *to;   /* owns the transfer, and so outlasts it */
    size_t from_offset, to_offset, size;
    sci_cb_block_transfer_t callback; /* NULL: a thread waits */
    void *argument;
    sci_block_transfer_t handle;
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool ended;          /* nothing moves any more; guarded by `lock` */
    sci_error_t outcome; /* likewise */
};

struct block {
    struct sisci_object object;
    struct source *source;
    struct sisci_listener *listener;
};

static struct block *block_of(struct sisci_object *object)
{
    return (struct block *)object; /* its first member */
}

static sci_error_t move(struct source *source)
{
    struct rsmcore_import *import = source->to->import;
    struct rsmcore_barrier barrier = {.failures = 0};
    sci_error_t error = SCI_ERR_OK;
    if (import != NULL)
        barrier = rsmcore_barrier_open_for_calls(import);
    for (size_t at = 0; at < source->size && error == SCI_ERR_OK; at += PIECE_BYTES) {
        size_t left = source->size - at;
        if (atomic_load(&source->stop))
            error = SCI_ERR_CANCELLED;
        else
            error = sisci_map_copy(source->from, source->from_offset + at, source->to,
                                   source->to_offset + at, left < PIECE_BYTES ? left : PIECE_BYTES);
    }
    /* What was stopped must not arrive later, either. */
    if (import != NULL && rsmcore_barrier_close(import, barrier) != RSM_ST_OK &&
        error == SCI_ERR_OK)
        error = SCI_ERR_TRANSFER_FAILED;
    return error;
}

static void call_back(void *argument)
{
    struct source *source = argument;
    (void)source->callback(source->argument, source->handle, source->outcome);
}

static enum sisci_turn take_turn(void *argument)
{
    struct source *source = argument;
    sci_error_t outcome = move(source);
    sisci_drop(&source->from->object);
    pthread_mutex_lock(&source->lock);
    source->ended = true;
    source->outcome = outcome;
    pthread_cond_broadcast(&source->over);
    pthread_mutex_unlock(&source->lock);
    if (source->callback == NULL)
        return SISCI_TURN_LAST;
    sisci_call_deep(call_back, source);
    struct sisci_object *object = sisci_hold(source->handle, SISCI_BLOCK_TRANSFER);
    if (object != NULL)
        (void)sisci_end(object, SISCI_END_ALL);
    return SISCI_TURN_LAST;
}

static void finish_source(void *argument)
{
    struct source *source = argument;
    pthread_cond_destroy(&source->over);
    pthread_mutex_destroy(&source->lock);
    free(source);
}

static const struct sisci_listener_type listener_type = {.take_turn = take_turn,
                                                         .finish = finish_source};

static void cancel(struct sisci_object *object)
{
    atomic_store(&block_of(object)->source->stop, true);
}

static void release(struct sisci_object *object)
{
    struct block *block = block_of(object);
    if (block->listener != NULL) {
        (void)sisci_listener_end(block->listener);
        return;
    }
    sisci_drop(&block->source->from->object); /* it has not begun */
    finish_source(block->source);
}

static const struct sisci_type block_type = {
    .kind = SISCI_BLOCK_TRANSFER, .cancel = cancel, .release = release};

static struct source *make_source(const struct source *wanted)
{
    struct source *source = malloc(sizeof *source);
    if (source == NULL)
        return NULL;
    *source = *wanted;
    rsm_cond_init(&source->over);
    pthread_mutex_init(&source->lock, NULL);
    return source;
}

/* The transfer is held meanwhile: its callback may come at once, and then it ends. */
static sci_error_t begin(void *made, sci_block_transfer_t *handle)
{
    struct sisci_object *object = sisci_hold(made, SISCI_BLOCK_TRANSFER);
    if (object == NULL)
        return SCI_ERR_ILLEGAL_PARAMETER; /* the map is being unmapped */
    struct block *block = block_of(object);
    *handle = block->source->handle = made;
    sci_error_t error = sisci_listener_start(&listener_type, block->source, &block->listener);
    if (error == SCI_ERR_OK) {
        sisci_drop(object);
    } else {
        *handle = NULL;
        (void)sisci_end(object, SISCI_END_ALL);
    }
    return error;
}

/* The hold of the map that is read goes along, unless this fails before the transfer is there. */
static sci_error_t start(const struct source *wanted, sci_block_transfer_t *handle)
{
    struct block *block = calloc(1, sizeof *block);
    struct source *source = block != NULL ? make_source(wanted) : NULL;
    sci_error_t error = SCI_ERR_NOSPC;
    void *made;
    if (source != NULL) {
        sisci_hold_again(&source->from->object);
        block->source = source;
        error = sisci_object_enter(&block->object, &block_type, &source->to->object, &made);
        if (error == SCI_ERR_OK)
            return begin(made, handle);
        sisci_drop(&source->from->object);
        finish_source(source);
    }
    free(block);
    return error;
}

SISCI_API(void, SCITransferBlockAsync)
(sci_map_t sourceMap, unsigned int sourceOffset, sci_map_t destinationMap,
 unsigned int destinationOffset, unsigned int size, sci_block_transfer_t *block,
 sci_cb_block_transfer_t callback, void *callbackArg, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    struct source wanted = {.from_offset = sourceOffset,
                            .to_offset = destinationOffset,
                            .size = size,
                            .argument = callbackArg};
    sci_error_t result = sisci_check(flags, SCI_FLAG_USE_CALLBACK | SCI_FLAG_ERROR_CHECK);
    if ((flags & SCI_FLAG_USE_CALLBACK) != 0)
        wanted.callback = callback;
    if (block != NULL)
        *block = NULL;
    if (result == SCI_ERR_OK &&
        (block == NULL || ((flags & SCI_FLAG_USE_CALLBACK) != 0 && callback == NULL)))
        result = SCI_ERR_ILLEGAL_PARAMETER;
    wanted.from = sisci_need(sourceMap, SISCI_MAP, &result);
    wanted.to = sisci_need(destinationMap, SISCI_MAP, &result);
    if (result == SCI_ERR_OK)
        result =
            sisci_map_copy_check(wanted.from, sourceOffset, wanted.to, destinationOffset, size);
    if (result == SCI_ERR_OK && block != NULL)
        result = start(&wanted, block);
    if (wanted.from != NULL)
        sisci_drop(&wanted.from->object);
    if (wanted.to != NULL)
        sisci_drop(&wanted.to->object);
    sisci_report(error, result);
}

static enum rsm_status attempt(void *argument, int timeout_ms)
{
    struct source *source = argument;
    const struct timespec end = rsm_timespec(rsm_deadline(timeout_ms));
    int error = 0;
    pthread_mutex_lock(&source->lock);
    while (!source->ended && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&source->over, &source->lock, &end);
    bool ended = source->ended;
    pthread_mutex_unlock(&source->lock);
    return ended ? RSM_ST_OK : RSM_ST_TIMEOUT;
}

SISCI_API(void, SCIWaitForBlockTransfer)
(sci_block_transfer_t block, unsigned int timeout, unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sci_error_t result = sisci_check(flags, 0);
    struct sisci_object *held = sisci_need(block, SISCI_BLOCK_TRANSFER, &result);
    if (held != NULL && block_of(held)->source->callback != NULL) {
        result = SCI_ERR_ILLEGAL_OPERATION;
    } else if (held != NULL) {
        struct source *source = block_of(held)->source;
        result = sisci_error(SISCI_WAIT, sisci_wait(held, timeout, attempt, source));
        if (result == SCI_ERR_OK) {
            RSM_UNCANCELLABLE;
            result = source->outcome;
            (void)sisci_end(held, SISCI_END_ALL); /* or another thread does, which waited, too */
            held = NULL;
        }
    }
    if (held != NULL)
        sisci_drop(held);
    sisci_report(error, result);
}

static void await_end(struct source *source)
{
    while (attempt(source, 1000) != RSM_ST_OK)
        continue;
}

SISCI_API(void, SCIAbortBlockTransfer)
(sci_block_transfer_t block, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sci_error_t result = sisci_check(flags, 0);
    struct sisci_object *held = sisci_need(block, SISCI_BLOCK_TRANSFER, &result);
    if (held != NULL) {
        cancel(held);
        await_end(block_of(held)->source);
        sisci_drop(held);
    }
    sisci_report(error, result);
}
