/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The exchange itself, chunk by chunk: freeze, copy, move the other pages over, thaw.
 *
 *  One chunk is frozen at a time, and its copy was made once before while stores went on, so that a
 *  storing thread waits for the time of a warm copy of one chunk at most. */
#pragma once

#include "pageswap/pageswap.h"
#include "pageswap/range.h"

/** Put the memfd under all parts. @p offset is the place in the memfd that goes under @p base. On
 *  failure what lies before the failing place stays exchanged. @p fresh: see RSMCORE_SWAP_FRESH. */
enum rsm_status rsmcore_exchange_in(const struct rsmcore_parts *parts, uintptr_t base, int fd,
                                    uint64_t offset, bool fresh);

/** Take what is still the memfd at its offset out of the run; RSM_ST_NO_MEMORY: not all of it.
 *  The run's alias stays. */
enum rsm_status rsmcore_exchange_out(const struct rsmcore_origin_run *run,
                                     const struct rsmcore_swap_file *file, uint64_t offset);

/** Whether the mapping, which is clipped to the run, is the memfd at the place where the run has
 *  it. @p offset is that of the run's start in the memfd. */
bool rsmcore_exchange_is_in(const struct rsmcore_origin_run *run,
                            const struct rsmcore_swap_file *file, uint64_t offset,
                            struct rsmcore_vma *vma);
