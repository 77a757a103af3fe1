/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The service manager's two protocols: notification and passed sockets. */
#ifndef RSMD_NOTIFY_H
#define RSMD_NOTIFY_H

#include <stdbool.h>

/** Send the service manager a state such as "READY=1". Does nothing if there is no manager or it
 *  does not listen. */
void rsmd_notify(const char *state);

/** The same without waiting. The manager may miss the state. */
void rsmd_notify_in_passing(const char *state);

/** Send the manager a state with a descriptor. False: the manager did not get it, or there is
 *  none. */
bool rsmd_notify_with(const char *state, int fd);

/** Take the latest descriptor that the service manager has passed under a name. -1: there is none.
 *  Must be called before rsmd_passed_socket(), which takes the rest. */
int rsmd_passed_named(const char *name);

/** Take the listening SEQPACKET socket that the service manager has passed, and make it
 *  non-blocking and close-on-exec. -1: none was passed; -2: something else was. */
int rsmd_passed_socket(void);

#endif
