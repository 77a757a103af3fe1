/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The service manager's store of descriptors (sd_notify(3), FDSTORE=1). */
#ifndef RSMD_HANDOVER_STORE_H
#define RSMD_HANDOVER_STORE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    /** What rsmd.service allows (FileDescriptorStoreMax). Their names reach the next process in one
     *  variable of its environment, which the kernel bounds. */
    RSMD_STORE_MAX = 16384,
};

/* Names in the store; clients' descriptors have their numbers in hexadecimal there. */
#define RSMD_STORE_STATE  "rsmd-state"
#define RSMD_STORE_TABLE  "rsmd-table"
#define RSMD_STORE_LOCK   "rsmd-lock"
#define RSMD_STORE_SOCKET "rsmd-socket"

/** Whether there is a service manager to talk to. */
bool rsmd_store_is_there(void);

/** Connect to it. -1: errno says why. The caller closes it. */
int rsmd_store_connect(void);
/** Give it a descriptor, waiting until it has room. False, with errno. */
bool rsmd_store_put(int manager, const char *name, int fd);
/** Have it give up what has this name. */
bool rsmd_store_remove(int manager, const char *name);
/** Wait until it has read all that was sent. False: it has not within a few seconds. */
bool rsmd_store_barrier(int manager);

#endif
