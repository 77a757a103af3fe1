/* SPDX-License-Identifier: BSD-3-Clause */
/** @file One run: the processes that measure, and what they found. */
#ifndef RSMPERF_RUN_H
#define RSMPERF_RUN_H

#include <stdbool.h>

#include "gauge.h"
#include "machine.h"
#include "options.h"
#include "report.h"
#include "samples.h"

enum verdict { VERDICT_NONE, VERDICT_MET, VERDICT_MISSED };

/** What another way takes for the same. */
struct alternative {
    double p50;      /**< ns; 0: it is not known */
    double mb_per_s; /**< 0: not a transfer */
    double ratio;    /**< of ours to it, as that to the limit */
};

/** One line of the table. */
struct result {
    const struct gauge *gauge;
    size_t bytes;               /**< 0: it has none */
    char failure[REPORT_BYTES]; /**< empty: there is none */
    struct figure ours;
    const char *limit_name; /**< NULL: nothing to compare with */
    struct figure limit;
    double ratio; /**< to the limit: of times, or of bandwidths if the gauge is a stream */
    double mb_per_s, limit_mb_per_s; /**< of all importers, 10^6 bytes; 0: not a transfer */
    struct alternative beside[BESIDES];
    enum verdict verdict;
    char target[48];
};

struct run {
    const struct options *options;
    struct machine machine;
    uint32_t node, server_node;
    struct result *results;
    unsigned count, room;
    bool interrupted;
    bool failed;                /**< something is missing */
    char failure[REPORT_BYTES]; /**< why there is nothing (more) */
};

/** Run all that is wanted. False: something is missing, see `failure`, `interrupted` and the
 *  results. Afterwards no process is left. */
bool run_all(const struct options *options, struct run *run);
void run_free(struct run *run);

/** Whether repetitions of either side differ so much that the figure means little. */
bool result_is_noisy(const struct result *result);

/** Fill in `target` and `verdict` where something is expected of the figure: targets.c. */
void target_judge(const struct options *options, struct result *result);

#endif
