/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Locked instructions on mappings. They are atomic among the threads of this process, never with
 * the peer: what is done about programs that may believe otherwise.
 */
#pragma once

#include <stdbool.h>
#include <ucontext.h>

#include "mapping/options.h"

/** From the handler, before a store that cannot be decoded is let through: true if it is refused
 *  instead, and SIGBUS at @p address is what the program gets when the handler returns. */
bool mapping_atomics_refuse(const struct mapping_options *options, ucontext_t *context,
                            uintptr_t address);

/** Log the first that was let through, once in the life of the process; not from a handler. */
void mapping_atomics_report(void);
