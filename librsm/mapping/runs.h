/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What differs between a page and its twin, sent in batches; the caller holds the space's
 *  lock. */
#pragma once

#include "mapping/space.h"

enum { MAPPING_RUNS = 64 };

/** What is collected before it is sent. Zeroed but for the space it is empty. */
struct mapping_runs {
    struct mapping_space *space;
    struct rsm_transfer piece[MAPPING_RUNS];
    unsigned count;
    bool failed;
};

/** Collect what @p copy, which is the page at some moment, has different from its twin. False:
 *  nothing. */
bool mapping_runs_add(struct mapping_runs *runs, uint32_t page, const uint8_t *copy);
/** Send what has been collected. */
void mapping_runs_send(struct mapping_runs *runs);
