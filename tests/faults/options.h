/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the program is asked to do: its arguments, and RSM_FAULTS_EACH. */
#ifndef TESTS_FAULTS_OPTIONS_H
#define TESTS_FAULTS_OPTIONS_H

#include <stdbool.h>

enum role { ROLE_CLIENT, ROLE_NODE1, ROLE_NODE2, ROLE_START, ROLE_STARTED, ROLE_SIGNALS };

extern const char *const options_role_names[];

extern struct options {
    enum role role;
    const char *group; /* or kind; NULL: all */
    const char *part;  /* NULL: all */
    int error;         /* -1: all */
    unsigned only;     /* n; 0: all */
    enum { PLACES, STEPS, CALLS } each;
    bool burst;
    bool never;
} options;

void options_usage(void);
/** False: there is one that is none. */
bool options_take(int argc, char **argv);

#endif
