/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Maps of segments, local and remote. */
#ifndef SISCI_MAP_H
#define SISCI_MAP_H

#include "core/map.h"
#include "object.h"
#include "segment_memory.h"
#include "sisci_api.h"

struct sisci_map {
    struct sisci_object object;
    uint8_t *address;
    size_t length;
    bool read_only;
    uint64_t offset;               /**< of its first byte in the segment */
    struct rsmcore_import *import; /**< of a remote segment; NULL: of a local one */
    struct rsmcore_map *remote;    /**< the same */
    struct sisci_local_map local;
};

static inline struct sisci_map *sisci_hold_map(sci_map_t handle)
{
    return (struct sisci_map *)sisci_hold(handle, SISCI_MAP);
}

/** Whether so many bytes from an offset on are inside. */
static inline bool sisci_map_has(const struct sisci_map *map, size_t offset, size_t length)
{
    return offset <= map->length && length <= map->length - offset;
}

#endif
