/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What may be chosen about software mappings; rsm_map(7) explains it to programmers. */
#ifndef RSMCORE_SOFTMAP_OPTIONS_H
#define RSMCORE_SOFTMAP_OPTIONS_H

#include <stdint.h>

#include "rsm/transport.h"

enum softmap_mode {
    SOFTMAP_AUTO,    /**< stores are trapped until a page takes many, then a twin */
    SOFTMAP_PRECISE, /**< every store that can be decoded is trapped */
    SOFTMAP_TWIN,    /**< no store is decoded: the first to a page makes a twin */
    SOFTMAP_OFF,     /**< no software mappings */
};

#define SOFTMAP_THRESHOLD_NEVER UINT32_MAX

struct softmap_options {
    enum softmap_mode mode;
    uint32_t threshold;  /**< stores to one page within EPOCH_US that earn it a twin */
    uint32_t flush_us;   /**< microseconds that a changed byte may stay unsent */
    uint32_t refresh_us; /**< microseconds between two reads of a cached page; 0: all the time */
    uint32_t grain;      /**< bytes that only one side writes: 1, 2, 4, 8 or 64 */
};

/** Stores to a page count together if they happen within so many microseconds. */
#define SOFTMAP_EPOCH_US 1000u

/** The defaults for this processor. */
struct softmap_options softmap_options_default(void);

/** The defaults and what the environment says (not in set-user-id programs).
 *  RSM_ST_UNSUPPORTED: a mode that this build or machine does not have; RSM_ST_INVALID: a value
 *  that does not exist. Both are logged. */
enum rsm_status softmap_options_read(struct softmap_options *options);

#endif
