/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Maps of a connection: any bytes of its segment as memory. Any number of them may overlap;
 *  each has a mapping of whole pages of its own underneath. For APIs that map by the byte; those
 *  that map whole pages at given addresses use rsmcore_import_map(). All functions are
 *  thread-safe. */
#pragma once

#include "base/exports.h"
#include "core/import.h"

RSMCORE_EXPORTS_BEGIN

struct rsmcore_map;

/**
 * Map [offset, offset + length) of the segment. The address has the offset's place in its page.
 * What lies beside the range in its first and last page is within reach of a stray pointer.
 * @param length  bytes, not 0.
 * @param rights  RSM_RIGHT_*, of those that the connection has.
 * @param at      NULL: an address of the kernel's choice; else where the first byte is to be, with
 *                nothing mapped in any of its pages.
 * @return RSM_ST_OK; RSM_ST_RANGE; RSM_ST_MAP_FAILED: something is there, or nothing can be;
 *         RSM_ST_ALIGNMENT: not the offset's place in the page; or what rsmcore_import_map() says.
 */
enum rsm_status rsmcore_map_make(struct rsmcore_import *import, uint64_t offset, size_t length,
                                 uint32_t rights, void *at, struct rsmcore_map **map);

/** Unmap it. On error it is still there; what rsmcore_import_unmap() says. */
enum rsm_status rsmcore_map_end(struct rsmcore_map *map);

/** Where the first byte is. */
void *rsmcore_map_address(const struct rsmcore_map *map);

RSMCORE_EXPORTS_END
