/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a part defines, and how long one step of it may take (main.c).
 *
 * A step is what somebody who writes to us can make happen at once: one request, one message, one turn of
 * the event loop, one decoding. It is judged by the processor time of its thread, so that a loaded machine
 * does not matter. A part whose inputs are scripts marks its steps; elsewhere the whole input is one.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "system.h"

enum { FUZZ_STEP_MAX_MS = 50 };

/** Try one input. It leaves nothing behind, and does the same when it is tried again. */
void fuzz_input(const uint8_t *data, size_t size);

/** A step begins on this thread. @return what fuzz_step_end() wants. */
int64_t fuzz_step_begin(void);
/** It has ended. @p what, a constant, says what it was if it has taken too long. */
void fuzz_step_end(int64_t begin, const char *what);

#endif
