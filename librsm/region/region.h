/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Which memory of this process lies on which extents.
 *
 *  A registry of page ranges that have been swapped onto extents. Exported segments are ranges of
 *  addresses; several may overlap and then share the extents behind the common pages. Extents are
 *  taken from rsmd when a range is covered and given back when no page of theirs is left.
 *
 *  One lock (region/region_lock.h) serialises everything that changes the registry; callers hold it
 *  around each call and around decisions that depend on several. In a forked child the registry
 *  starts empty. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/control.h"
#include "protocol/proto.h"
#include "region/region_lock.h"

/** Where extents come from. */
struct rsmcore_extent_source {
    const char *controller; /**< name */
    /** Vouches for an extent that is no memfd, as extent_check() in rsm/transport.h. */
    enum rsm_status (*check)(void *context, int fd, uint64_t offset, uint64_t length);
    void *context;
};

/**
 * Make sure that every page of [start, start + length) is on an extent, taking extents for the
 * pages that are not, from @p source.
 * @return RSM_ST_OK; otherwise nothing has changed: RSM_ST_FAULT, RSM_ST_DENIED, RSM_ST_BUSY,
 *         RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES, RSM_ST_STALE.
 */
enum rsm_status rsmcore_region_cover(struct rsmcore_control *control,
                                     const struct rsmcore_extent_source *source, uintptr_t start,
                                     size_t length);

/** Take the pages of the range off extents of a previous rsmd; their contents stay. That rsmd has
 *  died, and its ids mean nothing, or something else, to its successor. RSM_ST_NO_MEMORY: some
 *  pages are still on them. */
enum rsm_status rsmcore_region_uncover_stale(struct rsmcore_control *control, uintptr_t start,
                                             size_t length);

/** Whether no page of the range is on an extent. */
bool rsmcore_region_is_bare(uintptr_t start, size_t length);

/** The same as rsmcore_region_cover() for a range that is bare, with an extent of its length that
 *  rsmd has given already. Extent and descriptor are the region's from then on, or given back. */
enum rsm_status rsmcore_region_cover_with(struct rsmcore_control *control,
                                          const struct rsmcore_extent_source *source, uint32_t id,
                                          int fd, const struct rsm_extent_about *about,
                                          uintptr_t start, size_t length);

/** Make memory of an extent that rsmd has given: map it at an address of the kernel's choice. No
 * page is exchanged. From then on it is a region like others; taken off the extent it becomes
 * private memory. Extent and descriptor are the region's from then on, or given back. */
enum rsm_status rsmcore_region_map(struct rsmcore_control *control,
                                   const struct rsmcore_extent_source *source, uint32_t id, int fd,
                                   const struct rsm_extent_about *about, size_t length,
                                   uintptr_t *start);

/** Unmap memory of rsmcore_region_map(), whatever pages are there now, and give back its extents.
 */
void rsmcore_region_unmap(uintptr_t start, size_t length);

/** Give an extent back that was not put to use. */
void rsmcore_region_give_back(struct rsmcore_control *control, uint32_t id, int fd);

/** Take every page of the range off its extent, contents kept. Pages that are on none are left
 *  alone. RSM_ST_NO_MEMORY: pages from the first failing one on still are on their extents. */
enum rsm_status rsmcore_region_uncover(uintptr_t start, size_t length);

/** The first pages at or above *start that lie on an extent. False: there are none. */
bool rsmcore_region_next(uintptr_t *start, size_t *length);

/**
 * Move the extents under [from, from + length) to [to, to + length): see rsmcore_swap_move().
 * @return RSM_ST_OK; otherwise nothing has changed: RSM_ST_BUSY when the source is not wholly on
 *         extents or the target partly is, or what rsmcore_region_cover() may say.
 */
enum rsm_status rsmcore_region_move(uintptr_t from, uintptr_t to, size_t length);

/**
 * Map what lies under [start, start + length), whole pages that are wholly on extents, once more:
 * at
 * @p at, over what is mapped there.
 * @param protection  as of mmap(2).
 * @return RSM_ST_OK; RSM_ST_FAULT: not covered; RSM_ST_MAP_FAILED: a part of what was at @p at may
 *         have gone.
 */
enum rsm_status rsmcore_region_show(uintptr_t start, size_t length, int protection, void *at);

/** Describe a covered range as pieces for rsmd. RSM_ST_NO_RESOURCES: more than @p most;
 *  RSM_ST_FAULT: not covered. */
enum rsm_status rsmcore_region_pieces(uintptr_t start, size_t length,
                                      struct rsm_segment_piece *pieces, uint32_t max,
                                      uint32_t *count);
