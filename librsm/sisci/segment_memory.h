/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The memory of a local segment, which its handle and its maps share. */
#pragma once

#include <stdbool.h>

#include "core/export.h"
#include "core/import.h"
#include "core/map.h"
#include "error.h"

struct sisci_memory;

/** Of a segment that this process has made, or has attached to: one of the two, which belongs to
 *  the memory from then on. The caller holds it. NULL: no memory. */
struct sisci_memory *sisci_memory_of_export(struct rsmcore_export *exported);
struct sisci_memory *sisci_memory_of_import(struct rsmcore_import *attached);

/** The segment it belongs to, NULL if it is of the other kind. Valid until sisci_memory_close(). */
struct rsmcore_export *sisci_memory_export(const struct sisci_memory *memory);
struct rsmcore_import *sisci_memory_import(const struct sisci_memory *memory);

/** Forbid new mappings, because the segment is being removed. @p unused: only if it is not mapped;
 *  else SCI_ERR_BUSY. */
sci_error_t sisci_memory_close(struct sisci_memory *memory, bool unused);

/** The segment ends, and with it its handle's hold. Memory that is mapped stays until it is not. */
void sisci_memory_end(struct sisci_memory *memory);

/** The segment has got other pages: maps of a kind of their own follow. */
void sisci_memory_follow(struct sisci_memory *memory);

/** A map of it, part of the map's structure. */
struct sisci_local_map {
    struct sisci_memory *memory;
    void *address;
    size_t offset, length;
    void *pages; /**< a mapping of its own; NULL: the segment's own memory is what it shows */
    size_t pages_length;
    bool read_only;
    struct rsmcore_map *attached; /**< of one that is attached */
    struct sisci_local_map *next; /**< among those with a mapping of their own */
};

/**
 * Map @p map->length bytes from @p map->offset on, which are inside the segment.
 * @param at  where; NULL: anywhere.
 * @return SCI_ERR_OK; SCI_ERR_ILLEGAL_ADDRESS: something is there, or it is no such place;
 *         SCI_ERR_ILLEGAL_OPERATION: the segment has no memory; SCI_ERR_ILLEGAL_PARAMETER: it is
 *         being removed; SCI_ERR_NOSPC, SCI_ERR_SYSTEM.
 */
sci_error_t sisci_local_map_make(struct sisci_memory *memory, void *at,
                                 struct sisci_local_map *map);
void sisci_local_map_end(struct sisci_local_map *map);
