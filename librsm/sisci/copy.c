/* SPDX-License-Identifier: BSD-3-Clause */
/* SCIMemCpy() and its kin */
#include <string.h>

#include "export.h"
#include "order.h"
#include "sequence.h"

enum { TRIES = 3 };

/* Copy to or from a map, in range. What is stored afterwards becomes visible later. */
static sci_error_t copy(struct sisci_map *map, size_t offset, void *memory, size_t size, bool read)
{
    enum rsm_status status = RSM_ST_OK;
    if (size == 0)
        return SCI_ERR_OK;
    if (map->import == NULL && read) {
        memmove(memory, map->address + offset, size);
    } else if (map->import == NULL) {
        memmove(map->address + offset, memory, size);
    } else if (read) {
        status = rsmcore_import_get(map->import, map->offset + offset, memory, size);
    } else {
        status = rsmcore_import_put(map->import, map->offset + offset, memory, size);
        if (status == RSM_ST_OK)
            status = rsmcore_import_order(map->import);
    }
    atomic_thread_fence(memory_order_seq_cst);
    return status == RSM_ST_OK ? SCI_ERR_OK : SCI_ERR_TRANSFER_FAILED;
}

/* The same, between the start and the check of a sequence. What may be repeated is. */
static sci_error_t copy_checked(struct sisci_sequence *sequence, struct sisci_map *map,
                                size_t offset, void *memory, size_t size, bool read)
{
    for (unsigned i = 0; i < TRIES; i++) {
        sisci_span_begin(sequence);
        sci_error_t error = copy(map, offset, memory, size, read);
        sci_sequence_status_t status = sisci_span_end(sequence);
        if (status == SCI_SEQ_OK && error == SCI_ERR_OK)
            return SCI_ERR_OK;
        if (status == SCI_SEQ_NOT_RETRIABLE)
            break;
    }
    return SCI_ERR_TRANSFER_FAILED;
}

/* The arguments of SCIMemCpy(). */
struct wanted {
    struct sisci_sequence *sequence; /* NULL: none */
    size_t offset, size;
    void *memory;
    unsigned flags;
};

static sci_error_t copy_wanted(struct sisci_map *map, const struct wanted *wanted)
{
    bool read = (wanted->flags & SCI_FLAG_BLOCK_READ) != 0;
    bool checked = (wanted->flags & SCI_FLAG_ERROR_CHECK) != 0 && wanted->sequence != NULL;
    if (!sisci_map_has(map, wanted->offset, wanted->size))
        return SCI_ERR_OUT_OF_RANGE;
    if (wanted->memory == NULL && wanted->size > 0)
        return SCI_ERR_ILLEGAL_PARAMETER;
    if (!read && map->read_only)
        return SCI_ERR_ILLEGAL_OPERATION;
    return checked ? copy_checked(wanted->sequence, map, wanted->offset, wanted->memory,
                                  wanted->size, read)
                   : copy(map, wanted->offset, wanted->memory, wanted->size, read);
}

static sci_error_t mem_cpy(sci_sequence_t sequence, sci_map_t handle, struct wanted *wanted)
{
    sci_error_t result = sisci_check(wanted->flags, SCI_FLAG_BLOCK_READ | SCI_FLAG_ERROR_CHECK);
    struct sisci_map *map = sisci_need(handle, SISCI_MAP, &result);
    if (map == NULL)
        return result;
    if (sequence != NULL)
        wanted->sequence = sisci_need(sequence, SISCI_SEQUENCE, &result);
    if (result == SCI_ERR_OK)
        result = copy_wanted(map, wanted);
    if (wanted->sequence != NULL)
        sisci_drop(&wanted->sequence->object);
    sisci_drop(&map->object);
    return result;
}

SISCI_API(void, SCIMemCpy)
(sci_sequence_t sequence, void *memAddr, sci_map_t remoteMap, size_t remoteOffset, size_t size,
 unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    struct wanted wanted = {
        .offset = remoteOffset, .size = size, .memory = memAddr, .flags = flags};
    sisci_report(error, mem_cpy(sequence, remoteMap, &wanted));
}

SISCI_API(void, SCIMemCopy)
(void *memAddr, sci_map_t remoteMap, unsigned int remoteOffset, unsigned int size,
 unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    struct wanted wanted = {
        .offset = remoteOffset, .size = size, .memory = memAddr, .flags = flags};
    sisci_report(error, mem_cpy(NULL, remoteMap, &wanted));
}

SISCI_API(void, SCIMemWrite)
(void *memAddr, volatile void *remoteAddr, size_t size, unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sci_error_t result = sisci_check(flags, 0);
    if (result == SCI_ERR_OK && size > 0 && (memAddr == NULL || remoteAddr == NULL))
        result = SCI_ERR_ILLEGAL_PARAMETER;
    if (result == SCI_ERR_OK && size > 0) {
        memmove((void *)remoteAddr, memAddr, size);
        sisci_order_all();
    }
    sisci_report(error, result);
}

sci_error_t sisci_map_copy_check(const struct sisci_map *source, size_t from,
                                 const struct sisci_map *target, size_t to, size_t size)
{
    if (!sisci_map_has(source, from, size) || !sisci_map_has(target, to, size))
        return SCI_ERR_OUT_OF_RANGE;
    return target->read_only ? SCI_ERR_ILLEGAL_OPERATION : SCI_ERR_OK;
}

sci_error_t sisci_map_copy(struct sisci_map *source, size_t from, struct sisci_map *target,
                           size_t to, size_t size)
{
    if (target->import == NULL && source->import != NULL)
        return copy(source, from, target->address + to, size, true);
    return copy(target, to, source->address + from, size, false);
}

/* The same to another node, of which nothing is left to come when it returns. */
static sci_error_t transfer_checked(struct sisci_map *source, size_t from, struct sisci_map *target,
                                    size_t to, size_t size)
{
    struct rsmcore_barrier barrier = rsmcore_barrier_open_for_calls(target->import);
    sci_error_t error = sisci_map_copy(source, from, target, to, size);
    enum rsm_status status = rsmcore_barrier_close(target->import, barrier);
    return error == SCI_ERR_OK && status != RSM_ST_OK ? SCI_ERR_TRANSFER_FAILED : error;
}

SISCI_API(void, SCITransferBlock)
(sci_map_t sourceMap, unsigned int sourceOffset, sci_map_t destinationMap,
 unsigned int destinationOffset, unsigned int size, unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sci_error_t result = sisci_check(flags, SCI_FLAG_ERROR_CHECK);
    struct sisci_map *source = sisci_need(sourceMap, SISCI_MAP, &result);
    struct sisci_map *target = sisci_need(destinationMap, SISCI_MAP, &result);
    if (result == SCI_ERR_OK)
        result = sisci_map_copy_check(source, sourceOffset, target, destinationOffset, size);
    if (result == SCI_ERR_OK)
        result = (flags & SCI_FLAG_ERROR_CHECK) != 0 && target->import != NULL
                     ? transfer_checked(source, sourceOffset, target, destinationOffset, size)
                     : sisci_map_copy(source, sourceOffset, target, destinationOffset, size);
    if (source != NULL)
        sisci_drop(&source->object);
    if (target != NULL)
        sisci_drop(&target->object);
    sisci_report(error, result);
}
