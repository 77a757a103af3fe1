/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the made-up MUNGE (munge_content.c) has put into the latest credential, and finds there. */
#ifndef TESTS_FUZZ_MUNGE_H
#define TESTS_FUZZ_MUNGE_H

#include <stddef.h>
#include <stdint.h>

struct munge_content {
    int result; /* of decoding */
    uint32_t uid;
    uint32_t encoded, decoded; /* when */
    size_t length;
    uint8_t payload[1024];
};

#endif
