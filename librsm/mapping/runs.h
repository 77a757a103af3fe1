/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What differs between a page and its twin, sent in batches; the caller holds the space's
 *  lock. */
#ifndef RSMCORE_SOFTMAP_RUNS_H
#define RSMCORE_SOFTMAP_RUNS_H

#include "mapping/space.h"

enum { SOFTMAP_RUNS = 64 };

/** What is collected before it is sent. Zeroed but for the space it is empty. */
struct softmap_runs {
    struct softmap_space *space;
    struct rsm_transfer piece[SOFTMAP_RUNS];
    unsigned count;
    bool failed;
};

/** Collect what @p copy, which is the page at some moment, has different from its twin. False:
 *  nothing. */
bool softmap_runs_add(struct softmap_runs *runs, uint32_t page, const uint8_t *copy);
/** Send what has been collected. */
void softmap_runs_send(struct softmap_runs *runs);

#endif
