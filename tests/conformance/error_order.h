/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Which of two errors a function reports. A function is described by what can be wrong with a call,
 * in the order in which that is checked, and by a call with any of these things wrong at once.
 */
#ifndef TESTS_CONFORMANCE_ERROR_ORDER_H
#define TESTS_CONFORMANCE_ERROR_ORDER_H

#include "suite.h"

enum { FAULTS_MAX = 16 };

/** One thing that can be wrong. */
struct fault {
    const char *what;
    int code;
    /* The argument or state that it is about, as one bit or more: faults that share one cannot
     * occur together. */
    unsigned about;
};

struct checked_function {
    const char *name;
    const struct fault *faults; /* in the order of the checks; ends with a NULL name */
    /** A call with the faults of a bit mask: bit i is faults[i]. Without any it must succeed, and
     *  leave everything as it was. */
    int (*call)(unsigned mask);
};

/** Try no fault, each one and every pair that can occur together. */
void check_order(const struct checked_function *function);

/* What a fault may be about. */
enum {
    ABOUT_HANDLE = 1,
    ABOUT_RESULT = 2,
    ABOUT_ADDRESS = 4,
    ABOUT_LENGTH = 8,
    ABOUT_OFFSET = 16,
    ABOUT_STATE = 32,
    ABOUT_RIGHTS = 64,
    ABOUT_ID = 128,
    ABOUT_LIST = 256,
    ABOUT_NODE = 512,
    ABOUT_PROCESS = 1024,
};

/** Whether a fault is in the mask. */
#define WITH(fault) ((mask & 1u << (fault)) != 0)

#endif
