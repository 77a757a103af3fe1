/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What holds for the software mappings of one connection. */
#pragma once

#include <stdint.h>

#include "protocol/map_settings.h"
#include "rsm/transport.h"

struct mapping_options {
    enum mapping_mode mode;
    enum mapping_trap trap;
    enum mapping_trap_reason reason; /**< for the trap, where the connection may read */
    uint32_t threshold;              /**< stores of one copy to a page that earn it a twin */
    uint32_t flush_us;
    uint32_t refresh_us;
    uint32_t grain;
    enum mapping_atomics atomics;
    uint64_t cache_bytes; /**< what pages may take */
};

/** The defaults for this processor. */
struct mapping_options mapping_options_default(void);

/** The defaults, what @p configured has, and above both what the environment says (not in
 *  set-user-id programs). RSM_ST_UNSUPPORTED: what this build or machine does not have;
 *  RSM_ST_INVALID: a value that does not exist. Both are logged. */
enum rsm_status mapping_options_read(struct mapping_options *options,
                                     const struct mapping_settings *configured);
