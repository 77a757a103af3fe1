/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Times of one figure, from several importers, and what they come to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REPETITIONS = 5,
    SLICE_SAMPLES = 1000, /* kept of one repetition: a random choice where there were more */
};

/** One repetition. All zero is empty. */
struct slice {
    uint64_t seen; /**< samples that were taken */
    uint64_t random;
    double best; /**< of all that were taken, ns */
    double value[SLICE_SAMPLES];
};

struct samples {
    struct slice slice[REPETITIONS];
};

/** What is printed. ns for one operation. */
struct figure {
    double best, p50, p99;
    double spread;  /**< slowest repetition's median over the fastest's, less 1 */
    uint64_t count; /**< samples that were taken */
};

/** Nanoseconds of a clock that never jumps. */
double clock_ns(void);

/** The value that @p part of them, 0 to 1, do not exceed. Sorts them; @p count is not 0. */
double samples_quantile(double *values, size_t count, double part);

void samples_add(struct slice *slice, double ns);

/** p50 is the median of all repetitions' medians, p99 that of all that was kept.
 *  False: an importer has no samples, or there was no memory. */
bool samples_sum(const struct samples *const all[], unsigned count, struct figure *figure);
