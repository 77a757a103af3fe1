/* SPDX-License-Identifier: BSD-3-Clause */
/* SCICreateMapSequence() and what is done with sequences */
#include "sequence.h"

#include <stdlib.h>

#include "base/fence.h"
#include "export.h"
#include "order.h"

static void release(struct sisci_object *object)
{
    (void)object; /* it is a number */
}

static const struct sisci_type sequence_type = {.kind = SISCI_SEQUENCE, .release = release};

void sisci_span_begin(struct sisci_sequence *sequence)
{
    if (sequence->import == NULL)
        return;
    atomic_store(&sequence->failures, rsmcore_barrier_open(sequence->import).failures);
}

sci_sequence_status_t sisci_span_end(struct sisci_sequence *sequence)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (sequence->import == NULL)
        return SCI_SEQ_OK;
    const struct rsmcore_barrier barrier = {.failures = atomic_load(&sequence->failures)};
    enum rsm_status status = rsmcore_barrier_close(sequence->import, barrier);
    if (status == RSM_ST_OK) {
        /* What is counted from now on is the next span's: its count begins where this one ended. */
        (void)rsmcore_barrier_open(sequence->import);
        return SCI_SEQ_OK;
    }
    sisci_span_begin(sequence);
    return rsmcore_import_aborted(sequence->import) ? SCI_SEQ_NOT_RETRIABLE : SCI_SEQ_RETRIABLE;
}

static sci_error_t create(struct sisci_map *map, sci_sequence_t *handle)
{
    struct sisci_sequence *sequence = calloc(1, sizeof *sequence);
    if (sequence == NULL)
        return SCI_ERR_NOSPC;
    sequence->import = map->import;
    sisci_span_begin(sequence);
    sci_error_t error =
        sisci_object_enter(&sequence->object, &sequence_type, &map->object, (void **)handle);
    if (error != SCI_ERR_OK)
        free(sequence);
    return error;
}

SISCI_API(void, SCICreateMapSequence)
(sci_map_t map, sci_sequence_t *sequence, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sci_sequence_t made = NULL;
    sci_error_t result = sisci_check(flags, SCI_FLAG_FAST_BARRIER);
    if (result == SCI_ERR_OK && sequence == NULL)
        result = SCI_ERR_ILLEGAL_PARAMETER;
    struct sisci_map *held = sisci_need(map, SISCI_MAP, &result);
    if (held != NULL) {
        result = create(held, &made);
        sisci_drop(&held->object);
    }
    if (sequence != NULL)
        *sequence = made;
    sisci_report(error, result);
}

SISCI_API(void, SCIRemoveSequence)(sci_sequence_t sequence, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sisci_report(error, sisci_remove(sequence, SISCI_SEQUENCE, flags));
}

/* A connection that is lost is no error that passes. */
SISCI_API(sci_sequence_status_t, SCIStartSequence)
(sci_sequence_t sequence, unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sci_sequence_status_t status = SCI_SEQ_NOT_RETRIABLE;
    sci_error_t result = sisci_check(flags, 0);
    struct sisci_sequence *held = sisci_need(sequence, SISCI_SEQUENCE, &result);
    if (held != NULL) {
        if (held->import != NULL && rsmcore_import_aborted(held->import))
            result = SCI_ERR_NOT_CONNECTED;
        else
            status = SCI_SEQ_OK;
        sisci_span_begin(held);
        sisci_drop(&held->object);
    }
    sisci_report(error, result);
    return status;
}

SISCI_API(sci_sequence_status_t, SCICheckSequence)
(sci_sequence_t sequence, unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sci_sequence_status_t status = SCI_SEQ_NOT_RETRIABLE;
    sci_error_t result = sisci_check(flags, SCI_FLAG_NO_FLUSH | SCI_FLAG_NO_STORE_BARRIER);
    struct sisci_sequence *held = sisci_need(sequence, SISCI_SEQUENCE, &result);
    if (held != NULL) {
        status = sisci_span_end(held);
        sisci_drop(&held->object);
    }
    sisci_report(error, result);
    return status;
}

SISCI_API(void, SCIStoreBarrier)(sci_sequence_t sequence, unsigned int flags)
{
    RSM_CANCEL_DEFERRED;
    (void)sequence, (void)flags; /* it is about everything that is mapped */
    sisci_order_all();
}

SISCI_API(void, SCIFlush)(sci_sequence_t sequence, unsigned int flags)
{
    RSM_CANCEL_DEFERRED;
    (void)sequence;
    if ((flags & SCI_FLAG_FLUSH_CPU_BUFFERS_ONLY) != 0)
        rsm_fence_stores();
    else
        sisci_order_all();
}

SISCI_API(void, SCIFlushReadBuffers)(sci_sequence_t sequence)
{
    RSM_CANCEL_DEFERRED;
    struct sisci_sequence *held = sisci_hold(sequence, SISCI_SEQUENCE);
    rsm_fence_loads();
    if (held == NULL)
        return;
    if (held->import != NULL)
        rsmcore_import_acquire(held->import);
    sisci_drop(&held->object);
}
