/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The process's one chain of SIGSEGV handlers. Any part of the library may add a handler;
 *  all of them stand behind one signal handler, in front of the application's own. A fault that
 *  none of them knows goes on to the application's handler as if the chain did not exist. */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "base/exports.h"

RSMCORE_EXPORTS_BEGIN

/**
 * Look at a fault. Runs in a signal handler with all signals blocked, on the faulting thread.
 * @return true: the fault has been dealt with and the thread goes on; false: it is not known here.
 */
typedef bool (*rsmcore_fault_handler)(siginfo_t *info, void *context);

/**
 * Add @p handler, and put the chain in front of what handles SIGSEGV now. Where the handler is in
 * the chain already, only the latter happens. Thread-safe.
 * @return false with errno on failure: ENOSPC (too many handlers).
 */
bool rsmcore_faultchain_add(rsmcore_fault_handler handler);

/** Take @p handler away; nothing happens if it is not there. With the last one the application's
 *  handler gets its place back, unless the application has installed another one meanwhile. A
 *  thread may still be in the handler when this returns. Thread-safe. */
void rsmcore_faultchain_remove(rsmcore_fault_handler handler);

/** Put the chain in front again where the application has installed a handler since; that one is
 *  asked after the chain's from now on. One system call where it has not. Thread-safe. */
void rsmcore_faultchain_renew(void);

RSMCORE_EXPORTS_END
