/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Part of the program verbs_transport_test. */
#ifndef TESTS_VERBS_TEST_HANDLER_H
#define TESTS_VERBS_TEST_HANDLER_H

/** @return how many tests failed. */
int handler_tests(void);

#endif
