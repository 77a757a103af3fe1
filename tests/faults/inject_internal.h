/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Inside the preloaded library: the decision, for the wrapped functions. */
#ifndef TESTS_FAULTS_INJECT_INTERNAL_H
#define TESTS_FAULTS_INJECT_INTERNAL_H

#include "inject.h"

/** Count a call; true: it fails, and errno says how. */
bool faults_fail(enum fault_kind kind);

/** Whether this thread's calls count now. */
bool faults_counting(void);

/** Remember or forget an allocation. */
void faults_block_made(const void *block, const void *caller);
void faults_block_gone(const void *block);

/** The function that a wrapper hides. */
void *faults_real(const char *name);

/** Look the hidden function up once: `real` becomes a pointer to it. */
#define REAL(name)                                                                                 \
    static __typeof__(&name) real;                                                                 \
    if (real == NULL)                                                                              \
        *(void **)(void *)&real = faults_real(#name);

#endif
