/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Part of the program verbs_faults_test. */
#ifndef TESTS_VERBS_TEST_SHARING_H
#define TESTS_VERBS_TEST_SHARING_H

/** @return how many tests failed. */
int sharing_tests(void);

#endif
