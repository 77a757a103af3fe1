/* SPDX-License-Identifier: BSD-3-Clause */
/* SCIPrepareSegment(), SCISetSegmentAvailable(), SCISetSegmentUnavailable(), SCIShareSegment(),
 * SCIRegisterSegmentMemory() */
#include <unistd.h>

#include "export.h"
#include "segment_local.h"

_Static_assert((int)SISCI_NOT_PREPARED == (int)RSM_SEGMENT_NEW &&
                   (int)SISCI_PREPARED == (int)RSM_SEGMENT_READY &&
                   (int)SISCI_AVAILABLE == (int)RSM_SEGMENT_OPEN,
               "states are the same numbers");
_Static_assert((int)SISCI_ADAPTERS_MAX == (int)RSM_PROTO_UNITS_MAX, "and so are adapters");

/* Register the memory with the daemon, if that has not been done. Other processes may have it from
 * then on. SCI_ERR_ILLEGAL_OPERATION: there is no memory. Called with the lock held. */
static sci_error_t publish(struct sisci_local_segment *segment)
{
    struct rsmcore_export *exported = sisci_memory_export(segment->memory);
    if (exported == NULL || segment->published)
        return SCI_ERR_OK;
    if (rsmcore_export_address(exported) == NULL)
        return SCI_ERR_ILLEGAL_OPERATION;
    uint32_t id = segment->id;
    enum rsm_status status = rsmcore_export_publish(exported, segment->space, &id, 0, NULL, 0);
    segment->published = status == RSM_ST_OK;
    return sisci_error(SISCI_LOCAL, status);
}

static enum rsm_status move(struct sisci_local_segment *segment, const struct rsmcore_move *move,
                            enum rsm_segment_state *was)
{
    struct rsmcore_export *exported = sisci_memory_export(segment->memory);
    return exported != NULL ? rsmcore_export_move(exported, move, was)
                            : rsmcore_import_move(sisci_memory_import(segment->memory), move, was);
}

/* See which state it is in. Called with the lock held. */
static sci_error_t look(struct sisci_local_segment *segment, unsigned adapter)
{
    enum rsm_segment_state state = (enum rsm_segment_state)segment->states[adapter];
    const struct rsmcore_move nowhere = {.unit = adapter, .from = state, .to = state};
    enum rsm_status status = move(segment, &nowhere, &state);
    if (status == RSM_ST_OK)
        segment->states[adapter] = (uint8_t)state;
    return sisci_error(SISCI_LOCAL, status);
}

/* Act on the state that the segment has. Others may have changed it since we saw it last: then the
 * daemon says so, and it is the other state's edge that counts. Called with the lock held. */
static sci_error_t act(struct sisci_local_segment *segment, unsigned adapter,
                       enum sisci_local_action action, uint32_t flags)
{
    for (;;) {
        enum sisci_local_state state = segment->states[adapter];
        const struct sisci_local_edge *edge = &sisci_local_edges[state][action];
        const struct rsmcore_move wanted = {.unit = adapter,
                                            .from = (enum rsm_segment_state)state,
                                            .to = (enum rsm_segment_state)edge->next,
                                            .flags = flags};
        enum rsm_segment_state was;
        enum rsm_status status = move(segment, &wanted, &was);
        if (status == RSM_ST_ABORTED)
            return SCI_ERR_NOT_AVAILABLE; /* whose memory it is has gone */
        if (status != RSM_ST_OK)
            return sisci_error(SISCI_LOCAL, status);
        segment->states[adapter] = (uint8_t)((int)was == (int)state ? (int)edge->next : (int)was);
        if ((int)was == (int)state)
            return edge->error;
    }
}

static sci_error_t prepare(struct sisci_local_segment *segment, unsigned adapter, unsigned flags)
{
    sci_error_t error = SCI_ERR_OK;
    if (segment->is_empty || !segment->is_private)
        error = publish(segment);
    if (error == SCI_ERR_OK)
        error = act(segment, adapter, SISCI_PREPARE, 0);
    if (error == SCI_ERR_OK && (flags & SCI_FLAG_DMA_SOURCE_ONLY) != 0)
        segment->dma_only |= UINT64_C(1) << adapter;
    else if (error == SCI_ERR_OK)
        segment->dma_only &= ~(UINT64_C(1) << adapter);
    return error;
}

static sci_error_t set_available(struct sisci_local_segment *segment, unsigned adapter,
                                 unsigned flags)
{
    (void)flags;
    if (segment->is_private || (segment->dma_only & UINT64_C(1) << adapter) != 0)
        return SCI_ERR_ILLEGAL_OPERATION;
    /* No importer may connect before events are kept. The state seen last does not matter: another
     * process may have prepared the segment. */
    sci_error_t error = sisci_local_need_events(segment);
    /* It is not published where an end of all connections failed halfway. */
    if (error == SCI_ERR_OK && segment->states[adapter] != SISCI_NOT_PREPARED)
        error = publish(segment);
    return error == SCI_ERR_OK ? act(segment, adapter, SISCI_SET_AVAILABLE, 0) : error;
}

/* Cut all importers off. They keep orphaned pages, and the segment gets new ones. */
static sci_error_t disconnect_all(struct sisci_local_segment *segment, unsigned adapter,
                                  uint32_t flags)
{
    struct rsmcore_export *exported = sisci_memory_export(segment->memory);
    sci_error_t error = look(segment, adapter);
    if (error == SCI_ERR_OK)
        error = sisci_local_edges[segment->states[adapter]][SISCI_SET_UNAVAILABLE].error;
    if (error != SCI_ERR_OK)
        return error;
    enum rsm_status status = rsmcore_export_unpublish(exported, flags);
    if (status == RSM_ST_BUSY)
        return SCI_ERR_ILLEGAL_OPERATION; /* attached processes keep the pages */
    if (status != RSM_ST_OK && status != RSM_ST_NOT_PUBLISHED)
        return sisci_error(SISCI_LOCAL, status);
    segment->published = false;
    for (unsigned i = 0; i < SISCI_ADAPTERS_MAX; i++)
        if (segment->states[i] == SISCI_AVAILABLE)
            segment->states[i] = SISCI_PREPARED;
    error = publish(segment);
    sisci_memory_follow(segment->memory);
    return error;
}

static sci_error_t set_unavailable(struct sisci_local_segment *segment, unsigned adapter,
                                   unsigned flags)
{
    bool force = (flags & SCI_FLAG_FORCE_DISCONNECT) != 0;
    if (!force)
        return act(segment, adapter, SISCI_SET_UNAVAILABLE,
                   (flags & SCI_FLAG_NOTIFY) != 0 ? RSM_STATE_NOTIFY : 0);
    if (sisci_memory_export(segment->memory) == NULL)
        return SCI_ERR_ILLEGAL_OPERATION; /* the memory is another process's */
    return disconnect_all(segment, adapter, RSM_UNPUBLISH_NOTIFY);
}

typedef sci_error_t action_function(struct sisci_local_segment *segment, unsigned adapter,
                                    unsigned flags);

static sci_error_t on_adapter(sci_local_segment_t handle, unsigned adapter, unsigned flags,
                              unsigned known, action_function *action)
{
    sci_error_t result = sisci_check(flags, known);
    struct sisci_local_segment *segment = sisci_need(handle, SISCI_LOCAL_SEGMENT, &result);
    if (segment == NULL)
        return result;
    result = sisci_adapter_check(adapter);
    if (result == SCI_ERR_OK) {
        pthread_mutex_lock(&segment->lock);
        result = action(segment, adapter, flags);
        pthread_mutex_unlock(&segment->lock);
    }
    sisci_drop(&segment->object);
    return result;
}

SISCI_API(void, SCIPrepareSegment)
(sci_local_segment_t segment, unsigned int localAdapterNo, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sisci_report(error,
                 on_adapter(segment, localAdapterNo, flags, SCI_FLAG_DMA_SOURCE_ONLY, prepare));
}

SISCI_API(void, SCISetSegmentAvailable)
(sci_local_segment_t segment, unsigned int localAdapterNo, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sisci_report(error, on_adapter(segment, localAdapterNo, flags, 0, set_available));
}

SISCI_API(void, SCISetSegmentUnavailable)
(sci_local_segment_t segment, unsigned int localAdapterNo, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sci_error_t result = on_adapter(segment, localAdapterNo, flags,
                                    SCI_FLAG_FORCE_DISCONNECT | SCI_FLAG_NOTIFY, set_unavailable);
    if (result == SCI_ERR_NOT_INITIALIZED && sisci_library_is_over())
        result = SCI_ERR_OK; /* as of functions that remove */
    sisci_report(error, result);
}

bool sisci_local_is_prepared(struct sisci_local_segment *segment, unsigned adapter)
{
    bool prepared = false;
    pthread_mutex_lock(&segment->lock);
    for (unsigned i = 0; i < SISCI_ADAPTERS_MAX && !prepared; i++)
        prepared = segment->states[i] != SISCI_NOT_PREPARED;
    if (!prepared && look(segment, adapter) == SCI_ERR_OK)
        prepared = segment->states[adapter] != SISCI_NOT_PREPARED;
    pthread_mutex_unlock(&segment->lock);
    return prepared;
}

static sci_error_t share(struct sisci_local_segment *segment)
{
    struct rsmcore_export *exported = sisci_memory_export(segment->memory);
    if (exported == NULL)
        return SCI_ERR_OK; /* it is shared already */
    sci_error_t error = SCI_ERR_OK;
    /* One that has no memory yet can be attached to when it has. */
    if (rsmcore_export_address(exported) != NULL)
        error = publish(segment);
    enum rsm_segment_state was;
    const struct rsmcore_move move = {.unit = 0,
                                      .from = (enum rsm_segment_state)segment->states[0],
                                      .to = (enum rsm_segment_state)segment->states[0],
                                      .flags = RSM_STATE_SHARE};
    if (error == SCI_ERR_OK)
        error = sisci_error(SISCI_LOCAL, rsmcore_export_move(exported, &move, &was));
    return error;
}

SISCI_API(void, SCIShareSegment)
(sci_local_segment_t segment, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sci_error_t result = sisci_check(flags, SCI_FLAG_SHARE_EXTERNAL);
    struct sisci_local_segment *held = sisci_need(segment, SISCI_LOCAL_SEGMENT, &result);
    if (held != NULL) {
        pthread_mutex_lock(&held->lock);
        result = share(held);
        pthread_mutex_unlock(&held->lock);
        sisci_drop(&held->object);
    }
    sisci_report(error, result);
}

static sci_error_t register_memory(struct sisci_local_segment *segment, void *address, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct rsmcore_export *exported = sisci_memory_export(segment->memory);
    if (!segment->is_empty || exported == NULL || rsmcore_export_address(exported) != NULL)
        return SCI_ERR_ILLEGAL_OPERATION;
    if (address == NULL || (uintptr_t)address % page != 0)
        return SCI_ERR_ILLEGAL_ADDRESS;
    if (size == 0 || size % page != 0)
        return SCI_ERR_SIZE_ALIGNMENT;
    if (size != segment->size)
        return SCI_ERR_OUT_OF_RANGE;
    enum rsm_status status = rsmcore_export_attach(exported, address);
    return status == RSM_ST_DENIED ? SCI_ERR_ILLEGAL_ADDRESS : sisci_error(SISCI_LOCAL, status);
}

SISCI_API(void, SCIRegisterSegmentMemory)
(void *address, size_t size, sci_local_segment_t segment, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sci_error_t result = sisci_check(flags, SCI_FLAG_LOCK_USER_MEM);
    struct sisci_local_segment *held = sisci_need(segment, SISCI_LOCAL_SEGMENT, &result);
    if (held != NULL) {
        pthread_mutex_lock(&held->lock);
        result = register_memory(held, address, size);
        pthread_mutex_unlock(&held->lock);
        sisci_drop(&held->object);
    }
    sisci_report(error, result);
}

SISCI_API(void, SCIAttachPhysicalMemory)
(sci_ioaddr_t ioaddress, void *address, unsigned int busNo, size_t size,
 sci_local_segment_t segment, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    (void)ioaddress, (void)address, (void)busNo, (void)size, (void)segment;
    sci_error_t result = sisci_check(flags, SCI_FLAG_CUDA_BUFFER | SCI_FLAG_SCIF_BUFFER);
    sisci_report(error, result == SCI_ERR_OK ? SCI_ERR_NOT_SUPPORTED : result);
}
