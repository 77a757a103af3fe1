/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What can be measured. */
#pragma once

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
    bool sisci;      /**< of --api sisci */
    bool sized;      /**< measured for each size */
    size_t bytes;    /**< of the others; 0: it has none */
    bool stream;     /**< bandwidth is what counts */
    bool span;       /**< as many as of a stream, in a barrier's span: what one of many takes */
    bool single;     /**< each is timed alone, because something untimed is between them */
    bool everywhere; /**< the limit is RSMAPI's own, wherever the other side is */
    const char *limit_name;
    struct side ours, limit;
    const struct side *tcp; /**< the limit with --limit tcp; NULL: there is none */
};

enum { GAUGES = 30 };
extern const struct gauge *const gauges[GAUGES];

/** What is measured beside it in importing processes; NULL: nothing. */
const struct side *gauge_limit(const struct gauge *gauge, const struct options *options);
/** How many transfers of a stream are under way together. */
unsigned gauge_window(size_t bytes);

/** Warm up, then alternate both sides for @p time_ms. @p limit_side: NULL where there
 *  is no limit. */
int gauge_take(const struct gauge *gauge, const struct side *limit_side, struct bench *bench,
               size_t bytes, unsigned time_ms, struct samples *ours, struct samples *limit);
