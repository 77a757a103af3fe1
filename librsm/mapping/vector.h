/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Vector registers as the kernel saved them for a signal handler. Async-signal-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/** The lowest @p length bytes (16, 32, 64 or less) of vector register @p number (0 to 31). False:
 *  the frame does not have it. */
bool mapping_vector_value(const ucontext_t *context, unsigned number, size_t length,
                          uint8_t *bytes);

/** Ask the processor where its frame keeps what; once, before the first use. */
void mapping_vector_init(void);
