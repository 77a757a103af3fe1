/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The limit of a verbs device: what perftest's programs find on it. */
#ifndef RSMPERF_PERFTEST_H
#define RSMPERF_PERFTEST_H

#include "run.h"

/** Run the program of perftest that does what the result is of, if there is one, and fill in its
 *  limit. What goes wrong is said on standard error. */
void perftest_limit(const struct options *options, struct result *result);

/**
 * Read a program's table.
 * @param text       its standard output.
 * @param bytes      the size whose line is wanted.
 * @param bandwidth  the program measures bandwidth, and runs with --report_gbits.
 * @return false: there is no such line, or it makes no sense.
 */
bool perftest_parse(const char *text, size_t bytes, bool bandwidth, struct figure *figure);

#endif
