/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The kernel's connection manager on a device, and its failure on soft-RoCE. All its
 *  messages leave by one queue pair (GSI). On soft-RoCE that queue pair fails when the network does
 *  not take a message, and stays failed: the device then answers no peer until it is made again. */
#pragma once

#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>

#include "transport/verbs/common/device.h"

/** If the kernel says that the queue pair of the connection manager has failed, log that, and what
 *  mends it. */
void verbs_manager_report(const struct verbs_device *device);

/**
 * The kernel's index of a device.
 * @param message  one of the answer to RDMA_NLDEV_CMD_GET, nlmsg_len bytes; it need not be sound.
 * @return -1: it is about another device.
 */
int64_t verbs_nldev_index(struct nlmsghdr *message, const char *device);

/**
 * Whether a message lists the queue pair of the connection manager (GSI) in the error state.
 * @param message  one of the answer to RDMA_NLDEV_CMD_RES_QP_GET, nlmsg_len bytes; it need not be
 *                 sound.
 * @param port     of the device. A queue pair without a port counts for all.
 */
bool verbs_nldev_gsi_failed(struct nlmsghdr *message, uint8_t port);
