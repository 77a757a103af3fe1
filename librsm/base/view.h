/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Views of a segment that is made of several pieces, each in what a descriptor maps: one
 *  contiguous range of addresses each.
 *
 *  The first view is made from descriptors. Every further one is a copy of its page mappings, made
 *  by the kernel, so no descriptor has to be kept: an import does not cost the application any of
 *  the descriptors it is allowed. Where mappings cannot be copied (under valgrind, and of memory of
 *  a device), the first view keeps duplicates of its descriptors. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rsm/transport.h"

/** The protection that @p rights (RSM_RIGHT_*) ask for. The hardware knows no write without read.
 */
int rsm_view_protection(uint32_t rights);

/** A run of bytes in what one descriptor maps. */
struct rsm_view_piece {
    uint64_t offset; /**< bytes, a multiple of the page size */
    uint64_t length; /**< bytes, a multiple of the page size, not 0 */
};

/** The first view: a whole segment. */
struct rsm_view {
    uint8_t *base;
    uint64_t size; /**< bytes */
    int protection;
    unsigned count; /**< of pieces */
    struct {
        uint64_t end;    /**< in the view, bytes from base */
        uint64_t offset; /**< of its first byte in the memfd */
        int fd;          /**< duplicate; -1 if mappings can be copied */
    } pieces[RSM_OFFER_MAX_FDS];
};

/**
 * Map @p count pieces of @p fds one behind the other, @p size bytes in all.
 * @param copyable  further mappings can be made without the descriptors: ordinary shared memory.
 * @return RSM_ST_OK; RSM_ST_PROTOCOL: a descriptor does not allow this protection;
 *         RSM_ST_NO_MEMORY; RSM_ST_NO_RESOURCES.
 */
enum rsm_status rsm_view_make(struct rsm_view *view, const int *fds,
                              const struct rsm_view_piece *pieces, unsigned count, uint64_t size,
                              int protection, bool copyable);
void rsm_view_end(struct rsm_view *view);

/**
 * Map a part of a view a second time.
 * @param offset   bytes from the view's base; a multiple of the page size, as is @p length.
 * @param fixed    replace what is mapped at *address; if false it is a hint. Only when the process
 *                 runs out of mappings in the middle of replacing a range of several pieces is what
 *                 was there lost; in all other failures nothing has changed.
 * @return RSM_ST_OK; RSM_ST_MAP_FAILED: no mapping can be at that address; RSM_ST_NO_MEMORY.
 */
enum rsm_status rsm_view_map(const struct rsm_view *view, uint64_t offset, uint64_t length,
                             int protection, bool fixed, void **address);

/** Map @p length inaccessible bytes (PROT_NONE) in the place of a view. */
enum rsm_status rsm_view_map_none(uint64_t length, bool fixed, void **address);
