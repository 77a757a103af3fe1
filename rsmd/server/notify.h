/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The service manager's two protocols, as far as rsmd uses them. */
#ifndef RSMD_NOTIFY_H
#define RSMD_NOTIFY_H

#include <stdbool.h>

/** Tell the service manager a state like "READY=1". Without one, or if it does not listen, nothing
 *  happens. */
void rsmd_notify(const char *state);

/** The same, but the manager is not waited for at all: it may miss the state. */
void rsmd_notify_in_passing(const char *state);

/** Tell the manager a state with a descriptor. False: it does not get it, or there is none. */
bool rsmd_notify_with(const char *state, int fd);

/** Take the descriptor that the service manager has passed under a name: the latest, if there are
 *  several. -1: there is none. To be called before rsmd_passed_socket(), which gets what is
 *  left. */
int rsmd_passed_named(const char *name);

/** The listening SEQPACKET socket that the service manager opened for us, non-blocking and
 *  close-on-exec. -1: none was passed; -2: something else was. */
int rsmd_passed_socket(void);

#endif
