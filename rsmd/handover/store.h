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

/** Keep @p fd under @p name, a word. True: the manager has read that; whether its unit allows it,
 *  the manager does not say. */
bool rsmd_store_put(const char *name, int fd);

/** Keep nothing of that name any more. */
void rsmd_store_remove(const char *name);

#endif
