/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The signal that makes a thread carry out its store, and its handler. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** The signal that is the engine's in this process, or 0: the program uses all. Takes one. */
int mapping_signal(void);

/** Make @p thread, which waits at the instruction @p pc, carry out its store to @p address.
 *  False with errno: the kernel refuses. */
bool mapping_signal_send(pid_t thread, int signal, uintptr_t address, uint64_t pc);

/** Moves when the handler has done something for the thread, and at times without. */
unsigned mapping_signal_progress(pid_t thread);
