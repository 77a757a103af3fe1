/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Which errors the manual allows each function, from tests/docs/errors.txt, which a test of
 *  its own keeps in step with the pages. */
#ifndef TESTS_FAULTS_DOCUMENTED_H
#define TESTS_FAULTS_DOCUMENTED_H

#include <stdbool.h>

/** Read the list; false with a message. */
bool documented_read(void);

/** Whether the function may return this code. */
bool documented(const char *function, int error);

/** The name of a code, without its prefix. */
const char *documented_name(int error);

#endif
