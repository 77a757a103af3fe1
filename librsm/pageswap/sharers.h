/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Find other processes that map the pages of a shared mapping. */
#pragma once

#include "pageswap/vma.h"

enum rsmcore_sharers {
    RSMCORE_SHARERS_NONE,
    RSMCORE_SHARERS_SELF,   /**< this process maps some of these pages a second time */
    RSMCORE_SHARERS_OTHERS, /**< another process maps some of them */
};

/**
 * Find out whether other processes, or second mappings, map pages of this shared mapping now. A
 * child between fork and exec is another process.
 *
 * For System V segments the kernel's attach count decides. For other mappings, the page tables show
 * whether another process has touched a page, and /proc/PID/maps, of all processes that this one
 * may inspect, whether one could. If that fails for lack of descriptors or memory, the result is
 * RSMCORE_SHARERS_OTHERS.
 */
enum rsmcore_sharers rsmcore_sharers_of(const struct rsmcore_vma *vma);
