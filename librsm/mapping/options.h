/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What holds for the software mappings of one connection. */
#ifndef RSMCORE_SOFTMAP_OPTIONS_H
#define RSMCORE_SOFTMAP_OPTIONS_H

#include <stdint.h>

#include "control/map_settings.h"
#include "rsm/transport.h"

struct softmap_options {
    enum softmap_mode mode;
    enum softmap_trap trap;
    enum softmap_trap_reason reason; /**< for the trap, where the connection may read */
    uint32_t threshold;              /**< stores to one page within EPOCH_US that earn it a twin */
    uint32_t flush_us;
    uint32_t refresh_us;
    uint32_t grain;
    enum softmap_atomics atomics;
};

/** Stores to a page count together if they happen within so many microseconds. */
#define SOFTMAP_EPOCH_US 1000u

/** The defaults for this processor. */
struct softmap_options softmap_options_default(void);

/** The defaults, what @p configured has, and above both what the environment says (not in
 *  set-user-id programs). RSM_ST_UNSUPPORTED: what this build or machine does not have;
 *  RSM_ST_INVALID: a value that does not exist. Both are logged. */
enum rsm_status softmap_options_read(struct softmap_options *options,
                                     const struct softmap_settings *configured);

#endif
