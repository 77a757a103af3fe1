/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The freeze by mprotect: while a range is write-protected, threads that store into it wait
 *  in a SIGSEGV handler and then store again.
 *
 *  The handler is there from begin() to end() only, and every fault that is not the freeze's goes
 *  to the handler that was there before, as if this one did not exist. It stays longer if at end()
 *  some thread may still be on its way into it; the next end() tries again.
 *
 *  Limits: a thread that blocks SIGSEGV and stores into the range is killed by the kernel, and a
 *  system call that stores there fails with EFAULT.
 *
 *  Callers are serialised. fork() by other threads waits between freeze() and thaw(). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rsm/transport.h"

/** Install the handler. */
enum rsm_status rsmcore_segvwait_begin(void);

/** Restore the previous one. */
void rsmcore_segvwait_end(void);

/** Write-protect the range, whose protection is @p protection now. */
enum rsm_status rsmcore_segvwait_freeze(uintptr_t address, size_t length, int protection);

/** Let the waiting threads go on. The caller has made the range writable again. */
void rsmcore_segvwait_thaw(void);
