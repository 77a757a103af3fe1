/* SPDX-License-Identifier: BSD-3-Clause */
/* SCIMapLocalSegment(), SCIMapRemoteSegment(), SCIUnmapSegment() */
#include "map.h"

#include <stdlib.h>

#include "export.h"
#include "notifier.h"
#include "segment_local.h"
#include "segment_remote.h"

enum {
    LOCAL_FLAGS = SCI_FLAG_FIXED_MAP_ADDR | SCI_FLAG_READONLY_MAP,
    /* Those that say how hardware is to do it change nothing. */
    REMOTE_FLAGS = LOCAL_FLAGS | SCI_FLAG_LOCK_OPERATION | SCI_FLAG_CONDITIONAL_INTERRUPT_MAP |
                   SCI_FLAG_UNCONDITIONAL_DATA_INTERRUPT_MAP | SCI_FLAG_DISABLE_128_BYTES_PACKETS |
                   SCI_FLAG_IO_MAP_IOSPACE | SCI_FLAG_READ_PREFETCH_AGGR_HOLD_MAP |
                   SCI_FLAG_READ_PREFETCH_NO_HOLD_MAP | SCI_FLAG_WRITES_DISABLE_GATHER_MAP |
                   SCI_FLAG_NO_MEMORY_LOOPBACK | SCI_FLAG_DMOVE_MAP | SCI_FLAG_SHARED_MAP |
                   SCI_FLAG_WRITE_BACK_CACHE_MAP | SCI_FLAG_BROADCAST,
    INTERRUPT_FLAGS =
        SCI_FLAG_CONDITIONAL_INTERRUPT_MAP | SCI_FLAG_UNCONDITIONAL_DATA_INTERRUPT_MAP,
};

static void release(struct sisci_object *object)
{
    struct sisci_map *map = (struct sisci_map *)object;
    if (map->remote != NULL)
        (void)rsmcore_map_end(map->remote); /* fails only where nothing is mapped */
    else
        sisci_local_map_end(&map->local);
    if (map->notifier != NULL)
        sisci_notifier_end(map->notifier);
}

/* There are no bus addresses. */
static sci_error_t query(struct sisci_object *object, unsigned subcommand,
                         unsigned long long *answer)
{
    if (subcommand != SCI_Q_MAP_MAPPED_TO_LOCAL_TARGET)
        return SCI_ERR_ILLEGAL_QUERY;
    *answer = ((struct sisci_map *)object)->is_local;
    return SCI_ERR_OK;
}

static const struct sisci_type map_type = {.kind = SISCI_MAP, .release = release, .query = query};

/* What is to be mapped. */
struct wanted {
    size_t offset, size;
    void *at; /* NULL: anywhere */
    bool read_only;
    bool broadcast;      /* the segment has to be a group */
    unsigned interrupts; /* flags: what stores raise */
};

static sci_error_t check_range(const struct wanted *wanted, size_t size)
{
    bool inside = wanted->offset <= size && wanted->size <= size - wanted->offset;
    return wanted->size != 0 && inside ? SCI_ERR_OK : SCI_ERR_OUT_OF_RANGE;
}

/* A map that is ready gets its handle, or is released. */
static sci_error_t enter(struct sisci_map *map, struct sisci_object *owner, sci_map_t *handle,
                         void **address)
{
    *address = map->address;
    sci_error_t error = sisci_object_enter(&map->object, &map_type, owner, (void **)handle);
    if (error != SCI_ERR_OK) {
        release(&map->object);
        free(map);
    }
    return error;
}

static struct sisci_map *new_map(const struct wanted *wanted)
{
    struct sisci_map *map = calloc(1, sizeof *map);
    if (map == NULL)
        return NULL;
    map->offset = wanted->offset;
    map->length = wanted->size;
    map->read_only = wanted->read_only;
    return map;
}

/* The map belongs to the descriptor: it may outlive its segment. */
static sci_error_t map_local(struct sisci_local_segment *segment, const struct wanted *wanted,
                             sci_map_t *handle, void **address)
{
    sci_error_t error = check_range(wanted, segment->size);
    if (error != SCI_ERR_OK)
        return error;
    struct sisci_map *map = new_map(wanted);
    if (map == NULL)
        return SCI_ERR_NOSPC;
    map->local.offset = wanted->offset;
    map->local.length = wanted->size;
    map->local.read_only = wanted->read_only;
    error = sisci_local_map_make(segment->memory, wanted->at, &map->local);
    if (error != SCI_ERR_OK) {
        free(map);
        return error;
    }
    map->address = map->local.address;
    map->is_local = true;
    return enter(map, segment->object.owner, handle, address);
}

SISCI_API(void *, SCIMapLocalSegment)
(sci_local_segment_t segment, sci_map_t *map, size_t offset, size_t size, void *addr,
 unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    bool fixed = (flags & SCI_FLAG_FIXED_MAP_ADDR) != 0;
    const struct wanted wanted = {
        offset, size, fixed ? addr : NULL, (flags & SCI_FLAG_READONLY_MAP) != 0, false, 0};
    sci_map_t made = NULL;
    void *address = NULL;
    sci_error_t result = sisci_check(flags, LOCAL_FLAGS);
    if (result == SCI_ERR_OK && map == NULL)
        result = SCI_ERR_ILLEGAL_PARAMETER;
    if (result == SCI_ERR_OK && fixed && addr == NULL)
        result = SCI_ERR_ILLEGAL_ADDRESS;
    struct sisci_local_segment *held = sisci_need(segment, SISCI_LOCAL_SEGMENT, &result);
    if (held != NULL) {
        result = map_local(held, &wanted, &made, &address);
        sisci_drop(&held->object);
    }
    if (map != NULL)
        *map = made;
    sisci_report(error, result);
    return result == SCI_ERR_OK ? address : NULL;
}

/* Map what the segment's connection leads to, or the notifier over it. */
static sci_error_t map_import(struct sisci_map *map, const struct wanted *wanted)
{
    uint32_t rights = RSM_RIGHT_READ | (wanted->read_only ? 0 : RSM_RIGHT_WRITE);
    enum rsm_status status = rsmcore_map_make(map->import, wanted->offset, wanted->size, rights,
                                              wanted->at, &map->remote);
    if (status == RSM_ST_OK) {
        map->address = rsmcore_map_address(map->remote);
        return SCI_ERR_OK;
    }
    bool place = wanted->at != NULL && (status == RSM_ST_MAP_FAILED || status == RSM_ST_ALIGNMENT);
    return place ? SCI_ERR_ILLEGAL_ADDRESS : sisci_error(SISCI_TRANSFER, status);
}

static sci_error_t choose_import(struct sisci_map *map, const struct sisci_remote_segment *segment,
                                 const struct wanted *wanted)
{
    map->import = sisci_remote_import(segment);
    if (wanted->interrupts == 0 || wanted->read_only)
        return SCI_ERR_OK;
    sci_error_t error = sisci_notifier_start(
        segment->connection, wanted->interrupts == SCI_FLAG_UNCONDITIONAL_DATA_INTERRUPT_MAP,
        &map->notifier);
    if (error == SCI_ERR_OK)
        map->import = sisci_notifier_import(map->notifier);
    return error;
}

static sci_error_t map_remote(struct sisci_remote_segment *segment, const struct wanted *wanted,
                              sci_map_t *handle, void **address)
{
    const struct rsmcore_import *import = sisci_remote_import(segment);
    if (import == NULL)
        return SCI_ERR_NOT_CONNECTED;
    bool broadcast = segment->connection->broadcast;
    if (wanted->broadcast && !broadcast)
        return SCI_ERR_ILLEGAL_FLAG;
    if (wanted->interrupts != 0 && broadcast)
        return SCI_ERR_FLAG_NOT_IMPLEMENTED;
    sci_error_t error = check_range(wanted, (size_t)import->size);
    if (error != SCI_ERR_OK)
        return error;
    struct sisci_map *map = new_map(wanted);
    if (map == NULL)
        return SCI_ERR_NOSPC;
    error = choose_import(map, segment, wanted);
    if (error == SCI_ERR_OK)
        error = map_import(map, wanted);
    if (error != SCI_ERR_OK) {
        if (map->notifier != NULL)
            sisci_notifier_end(map->notifier);
        free(map);
        return error;
    }
    uint32_t own;
    map->is_local =
        !broadcast && rsmcore_local_node(&own) == RSM_ST_OK && own == segment->connection->node;
    return enter(map, &segment->object, handle, address);
}

SISCI_API(volatile void *, SCIMapRemoteSegment)
(sci_remote_segment_t segment, sci_map_t *map, size_t offset, size_t size, void *addr,
 unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    bool fixed = (flags & SCI_FLAG_FIXED_MAP_ADDR) != 0;
    const struct wanted wanted = {offset,
                                  size,
                                  fixed ? addr : NULL,
                                  (flags & SCI_FLAG_READONLY_MAP) != 0,
                                  (flags & SCI_FLAG_BROADCAST) != 0,
                                  flags & INTERRUPT_FLAGS};
    sci_map_t made = NULL;
    void *address = NULL;
    sci_error_t result = sisci_check(flags, REMOTE_FLAGS);
    if (result == SCI_ERR_OK && (flags & SCI_FLAG_LOCK_OPERATION) != 0)
        result = SCI_ERR_FLAG_NOT_IMPLEMENTED;
    if (result == SCI_ERR_OK && (flags & INTERRUPT_FLAGS) == INTERRUPT_FLAGS)
        result = SCI_ERR_ILLEGAL_FLAG;
    if (result == SCI_ERR_OK && map == NULL)
        result = SCI_ERR_ILLEGAL_PARAMETER;
    if (result == SCI_ERR_OK && fixed && addr == NULL)
        result = SCI_ERR_ILLEGAL_ADDRESS;
    struct sisci_remote_segment *held = sisci_need(segment, SISCI_REMOTE_SEGMENT, &result);
    if (held != NULL) {
        result = map_remote(held, &wanted, &made, &address);
        sisci_drop(&held->object);
    }
    if (map != NULL)
        *map = made;
    sisci_report(error, result);
    return result == SCI_ERR_OK ? address : NULL;
}

SISCI_API(void, SCIUnmapSegment)(sci_map_t map, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sisci_report(error, sisci_remove(map, SISCI_MAP, flags));
}

SISCI_API(volatile void *, SCIGetMapPointer)(sci_map_t map)
{
    RSM_CANCEL_DEFERRED;
    struct sisci_map *held = sisci_hold(map, SISCI_MAP);
    void *address = held != NULL ? held->address : NULL;
    if (held != NULL)
        sisci_drop(&held->object);
    return address;
}

SISCI_API(void, SCICacheSync)
(sci_map_t map, void *addr, size_t length, unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sci_error_t result = sisci_check(flags, SCI_FLAG_CACHE_FLUSH | SCI_FLAG_CACHE_INVALIDATE);
    struct sisci_map *held = sisci_need(map, SISCI_MAP, &result);
    if (held != NULL) {
        uintptr_t start = (uintptr_t)held->address, at = (uintptr_t)addr;
        if (at < start || !sisci_map_has(held, at - start, length))
            result = SCI_ERR_OUT_OF_RANGE;
        sisci_drop(&held->object);
        atomic_thread_fence(memory_order_seq_cst); /* caches are coherent */
    }
    sisci_report(error, result);
}
