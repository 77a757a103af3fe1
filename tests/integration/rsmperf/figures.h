/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What all runs of rsmperf must have in common. */
#ifndef TESTS_RSMPERF_FIGURES_H
#define TESTS_RSMPERF_FIGURES_H

#include "run.h"

/** Make rsmperf the tool; cmocka's setup of a world. */
int rsmperf_setup(void **state);

#define RSMPERF_TEST(test) TEST_WITH(struct world *world, test, rsmperf_setup, world_teardown)

/** Be another node from now on; 0: none in particular. */
void be_node(unsigned node);

/** Each is positive and finite, and best <= p50 <= p99. @p compared: each has a limit. */
void check_figures(const struct json_value *root, size_t count, bool compared);

/** The figure of an operation; @p bytes 0: of one that has none. */
const struct json_value *figure_of(const struct json_value *root, const char *operation,
                                   uint64_t bytes);

/** A run that must fail with this exit status and these words on standard error. */
void check_fails(const struct world *world, const char *options, int status, const char *words);

/** Wait until node 1 has so many exports; somebody must keep its daemon. */
void await_exports(const struct world *world, size_t count);

/** Wait until so many processes of rsmperf are left in this world, whoever their parents were.
 * Those that became the test's have ended well, or with a parent that was killed. */
void await_left(const struct world *world, unsigned count);

#endif
