/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Look at several nodes at the same time, so that several daemons that do not answer cost no
 *  more than one. */
#ifndef RSMSTAT_GATHER_H
#define RSMSTAT_GATHER_H

#include "collect.h"
#include "protocol/runtime.h"

/** Look at the nodes of @p list and fill in snapshots[0] to [count - 1]. False: out of memory, and
 *  none is left there. */
bool gather(const struct rsmcore_runtime *runtime, const uint32_t *list, size_t count,
            unsigned sections, int interrupt, struct snapshot **snapshots);

#endif
