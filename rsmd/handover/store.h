/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The service manager's descriptor store (FileDescriptorStoreMax= of systemd.service(5)):
 * descriptors that outlive the daemon, for the next one that the manager starts. The manager closes
 * them when the service has stopped and is not to be started again.
 */
#ifndef RSMD_STORE_H
#define RSMD_STORE_H

#include <stdbool.h>

/** Store @p fd under @p name, a word. True: the manager has read the request; it does not report
 *  whether its unit allows a store. */
bool rsmd_store_put(const char *name, int fd);

/** Remove all of that name from the store. */
void rsmd_store_remove(const char *name);

#endif
