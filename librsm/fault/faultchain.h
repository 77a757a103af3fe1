/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A SIGSEGV or SIGBUS handler put in front of the application's own: installing, handing on, taking
 * away. Callers are serialised.
 */
#ifndef RSMCORE_FAULTCHAIN_H
#define RSMCORE_FAULTCHAIN_H

#include <signal.h>
#include <stdbool.h>

typedef void (*rsmcore_fault_handler)(int signal, siginfo_t *info, void *context);

/** Put @p handler in front of what handles @p signal (SIGSEGV or SIGBUS) now; nothing if it is
 * there already. False with errno set on failure. */
bool rsmcore_faultchain_install(int signal, rsmcore_fault_handler handler);

/** Put back what was there before, unless the application has installed its own meanwhile. */
void rsmcore_faultchain_restore(int signal);

/** From the handler: do what would have happened without it. */
void rsmcore_faultchain_next(int signal, siginfo_t *info, void *context);

#endif
