/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Interrupt flags: interrupts that stores to a location of a local segment raise, if they
 *  are made through a map that reports them (notifier.h). */
#pragma once

#include "error.h"

struct rsmcore_interrupt;
struct sisci_flag;
struct sisci_flags; /* all those of one segment */

/** Stores raise this interrupt from now on. */
void sisci_flag_begin(struct sisci_flag *flag, struct rsmcore_interrupt *raised);
/** No more, from the return on. The flag is gone. */
void sisci_flag_end(struct sisci_flag *flag);

/** The segment ends. All its flags have ended. NULL is harmless. */
void sisci_flags_end(struct sisci_flags *flags);
