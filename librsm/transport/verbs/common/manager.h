/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The kernel's connection manager on a device, and what may become of it. All its messages leave by
 * one queue pair (GSI). On soft-RoCE that queue pair fails when the network does not take a
 * message, and stays failed: the device then answers nobody until it is made anew.
 */
#ifndef VERBS_MANAGER_H
#define VERBS_MANAGER_H

#include "transport/verbs/common/device.h"

/** Whether the kernel says that the queue pair of the connection manager has failed; false where it
 *  says nothing. */
bool verbs_manager_failed(const struct verbs_device *device);

/** Log that, and what mends it, if it is so. */
void verbs_manager_report(const struct verbs_device *device);

#endif
