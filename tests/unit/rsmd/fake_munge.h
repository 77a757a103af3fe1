/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What a test tells the MUNGE library that it has made up: the library's `fake_munge`. */
#ifndef TESTS_RSMD_FAKE_MUNGE_H
#define TESTS_RSMD_FAKE_MUNGE_H

#include <stdatomic.h>

struct fake_munge {
    atomic_int encode; /* results of the next calls; 0: success */
    atomic_int decode;
    atomic_int failing_decode;   /* the number of the one call that fails, counted from 1; 0: all */
    atomic_int uid;              /* who made the credentials */
    atomic_int age;              /* seconds, of credentials that are checked */
    atomic_int hangs;            /* 1: calls do not return */
    atomic_int inside;           /* calls that have not returned */
    atomic_int encoded, decoded; /* calls */
};

#endif
