/* SPDX-License-Identifier: BSD-3-Clause */
/** @file How much memory there is for this process: the host's, or what its control group, or one
 *  above it, may have. A container has such a limit. The kernel charges the pages of a memfd to the
 *  group of the process that touches them first. If a group goes beyond its limit, the kernel kills
 *  a process of it. So code that is about to touch many pages asks first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/exports.h"

/** Bytes; UINT64_MAX: no control group sets a limit. */
struct rsm_memory_bounds {
    uint64_t limit; /**< the lowest of the group and those above it */
    uint64_t room;  /**< unused, in the file cache, or can go to swap */
};

/** Read them of the groups that @p list, a file like /proc/self/cgroup, names below @p tree. */
void rsm_memory_bounds(const char *list, const char *tree, struct rsm_memory_bounds *bounds);

RSMCORE_EXPORTS_BEGIN

/** Bytes that this process may have at most: all of the host's memory, unless a control group has a
 *  limit. */
uint64_t rsmcore_memory_size(void);

RSMCORE_EXPORTS_END

/** Whether so many bytes more can be touched. Any thread; the groups are asked once a second, or
 *  once much of the room is taken. */
bool rsm_memory_fits(uint64_t bytes);
