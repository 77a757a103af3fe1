/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Maps of segments, local and remote. */
#pragma once

#include "core/map.h"
#include "object.h"
#include "segment_memory.h"
#include "sisci_api.h"

struct sisci_map {
    struct sisci_object object;
    uint8_t *address;
    size_t length;
    bool read_only;
    bool is_local;                   /**< the memory is on this node */
    uint64_t offset;                 /**< of its first byte in the segment */
    struct rsmcore_import *import;   /**< of a remote segment; NULL: of a local one */
    struct rsmcore_map *remote;      /**< the same */
    struct sisci_notifier *notifier; /**< of one whose stores raise interrupts; NULL: they do not */
    struct sisci_local_map local;
};

/** Whether so many bytes from an offset on are inside. */
static inline bool sisci_map_has(const struct sisci_map *map, size_t offset, size_t length)
{
    return offset <= map->length && length <= map->length - offset;
}

/** Whether bytes can be copied from one map to another: SCI_ERR_OUT_OF_RANGE,
 *  SCI_ERR_ILLEGAL_OPERATION: the target is read-only. */
sci_error_t sisci_map_copy_check(const struct sisci_map *source, size_t from,
                                 const struct sisci_map *target, size_t to, size_t size);
/** Copy them. What is stored afterwards arrives later. SCI_ERR_TRANSFER_FAILED. */
sci_error_t sisci_map_copy(struct sisci_map *source, size_t from, struct sisci_map *target,
                           size_t to, size_t size);
