/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A SIGSEGV handler put in front of the application's own: installing, handing on, taking away.
 * Callers are serialised.
 */
#ifndef RSMCORE_SEGVCHAIN_H
#define RSMCORE_SEGVCHAIN_H

#include <signal.h>
#include <stdbool.h>

typedef void (*rsmcore_segv_handler)(int signal, siginfo_t *info, void *context);

/** Put @p handler in front of what handles SIGSEGV now; nothing if it is there already. False with
 *  errno set on failure. */
bool rsmcore_segvchain_install(rsmcore_segv_handler handler);

/** Put back what was there before, unless the application has installed its own meanwhile. */
void rsmcore_segvchain_restore(void);

/** From the handler: do what would have happened without it. */
void rsmcore_segvchain_next(int signal, siginfo_t *info, void *context);

#endif
