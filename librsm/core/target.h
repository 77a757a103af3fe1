/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The addresses that a fixed mapping is ordered to take, while it is being made.
 *
 *  They need not be in use: then whatever is mapped meanwhile - by the library for the mapping, by
 *  a module that it loads, by another thread - could be put there by the kernel, and the fixed
 *  mapping would replace it. So all of them that are free are reserved first. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rsm/transport.h"

enum { RSMCORE_TARGET_GAPS = 64 };

/** What has been reserved. */
struct rsmcore_target {
    unsigned count;
    struct {
        uintptr_t start, end;
    } gap[RSMCORE_TARGET_GAPS];
};

/**
 * Reserve what is free in [address, address + length), rounded to whole pages.
 * @return RSM_ST_OK, also where the kernel refuses addresses that no mapping can have;
 *         RSM_ST_MAP_FAILED, and nothing is reserved: there are more than RSMCORE_TARGET_GAPS gaps.
 */
enum rsm_status rsmcore_target_hold(struct rsmcore_target *target, void *address, size_t length);

/** Give back what was reserved: the mapping has not been made. If it has, it is what lies there. */
void rsmcore_target_release(const struct rsmcore_target *target);
