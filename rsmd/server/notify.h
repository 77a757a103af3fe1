/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The service manager's two protocols, as far as rsmd uses them. */
#ifndef RSMD_NOTIFY_H
#define RSMD_NOTIFY_H

/** Tell the service manager a state like "READY=1". Without one, or if it does not listen, nothing
 *  happens. */
void rsmd_notify(const char *state);

/** The same, but the manager is not waited for at all: it may miss the state. */
void rsmd_notify_in_passing(const char *state);

/** The listening SEQPACKET socket that the service manager opened for us, non-blocking and
 *  close-on-exec. -1: none was passed; -2: something else was. */
int rsmd_passed_socket(void);

#endif
