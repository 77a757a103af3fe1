/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What is expected of a figure. */
#ifndef RSMPERF_TARGETS_H
#define RSMPERF_TARGETS_H

#include "run.h"

/** Fill in `target` and `verdict` where there is a target for it. */
void target_judge(const struct options *options, struct result *result);

#endif
