/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What can be measured. */
#ifndef RSMPERF_GAUGE_H
#define RSMPERF_GAUGE_H

#include <stdbool.h>
#include <stddef.h>

#include "bench.h"
#include "samples.h"

/** How something is done. Functions return as those of bench.h; all but `run` may be NULL. */
struct side {
    int (*begin)(struct bench *bench);
    /** Do it @p batch times; *ns: what these took together. */
    int (*run)(struct bench *bench, unsigned batch, double *ns);
    int (*end)(struct bench *bench);
};

struct gauge {
    const char *name;
    bool sisci;   /**< of --api sisci */
    bool sized;   /**< measured for each size */
    size_t bytes; /**< of the others; 0: it has none */
    bool stream;  /**< bandwidth is what counts */
    bool single;  /**< each is timed alone, because something untimed is between them */
    const char *limit_name;
    struct side ours, limit;
};

enum { GAUGES = 26 };
extern const struct gauge *const gauges[GAUGES];

/** How many transfers of a stream are under way together. */
unsigned gauge_window(size_t bytes);

/** Warm up, then alternate both sides for @p time_ms. @p limit: NULL where there is none. */
int gauge_take(const struct gauge *gauge, struct bench *bench, size_t bytes, unsigned time_ms,
               struct samples *ours, struct samples *limit);

#endif
