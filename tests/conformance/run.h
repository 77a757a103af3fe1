/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Running one test so that nothing it does can harm the next. */
#ifndef TESTS_CONFORMANCE_RUN_H
#define TESTS_CONFORMANCE_RUN_H

#include "suite.h"

enum outcome { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_DOES_NOT_APPLY, OUTCOMES };

enum { REASON_BYTES = 160 };

/**
 * Run a test in a process and a runtime directory of its own. What it prints is shown if it fails.
 * A crash, a process left behind and not ending in time are failures.
 *
 * @param[out] reason  why it does not apply, or how it failed; REASON_BYTES.
 */
enum outcome conformance_run(const struct conformance_test *test, char *reason);

#endif
