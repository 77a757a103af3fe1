/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The entry that the fuzzer calls with one input. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
