/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The service manager's protocols: notification, passed sockets, and its descriptor store
 * (FileDescriptorStoreMax= of systemd.service(5)): descriptors that outlive the daemon, for the
 * next one that the manager starts. The manager closes them when the service has stopped and is
 * not to be started again.
 */
#ifndef RSMD_NOTIFY_H
#define RSMD_NOTIFY_H

#include <stdbool.h>

/** Send the service manager a state such as "READY=1". Does nothing if there is no manager or it
 *  does not listen. */
void rsmd_notify(const char *state);

/** The same without waiting. The manager may miss the state. */
void rsmd_notify_in_passing(const char *state);

/** Store @p fd under @p name, a word. True: the manager has read the request; it does not report
 *  whether its unit allows a store. */
bool rsmd_store_put(const char *name, int fd);

/** Remove all of that name from the store. */
void rsmd_store_remove(const char *name);

/** Take the latest descriptor that the service manager has passed under a name. -1: there is none.
 *  Must be called before rsmd_passed_socket(), which takes the rest. */
int rsmd_passed_named(const char *name);

/** Take the listening SEQPACKET socket that the service manager has passed, and make it
 *  non-blocking and close-on-exec. -1: none was passed; -2: something else was. */
int rsmd_passed_socket(void);

#endif
