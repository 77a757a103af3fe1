/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Finding out that no thread is on its way into a signal handler any more. */
#pragma once

#include <stdbool.h>

#include "base/exports.h"

RSMCORE_EXPORTS_BEGIN

/**
 * Wait until every thread that had a memory fault before this call has entered the handler of
 * SIGSEGV or gone on: the signal is no longer pending, and the thread is not between the fault and
 * the signal.
 * @param limit_ms  how long to wait at most
 * @return whether that is certain.
 */
bool rsmcore_quiet_wait(unsigned limit_ms);

RSMCORE_EXPORTS_END
