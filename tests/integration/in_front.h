/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Functions of a test program that libraries call instead of those of the C library, or of another library. Not with
 * the thread sanitizer, whose own functions would be left out.
 */
#ifndef TESTS_INTEGRATION_IN_FRONT_H
#define TESTS_INTEGRATION_IN_FRONT_H

#include <stdbool.h>

/** Of a function that stands in front of another one. */
#define IN_FRONT __attribute__((visibility("default")))

/** The address of the function that the program's own one of this name stands in front of. */
void *behind(const char *name);

/** While true, pthread_create(3) fails with EAGAIN for the calling thread. */
extern __thread bool no_threads;

#endif
