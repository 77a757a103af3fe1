/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Groups of data interrupts: all of one number on the nodes of one adapter, triggered one
 *  after the other. Interrupts of that number that are created later join the group. */
#pragma once

#include "core/interrupt.h"

struct sisci_group;

/** Find the group of a number. RSM_ST_NOT_FOUND: no node has the number; RSM_ST_NO_MEMORY; else
 *  what rsmcore_topology_get() says. */
enum rsm_status sisci_group_connect(struct rsmcore_controller *controller, uint32_t number,
                                    struct sisci_group **group);
/** Free a group that no thread triggers. */
void sisci_group_disconnect(struct sisci_group *group);

/**
 * Trigger all members, one caller at a time.
 * @return RSM_ST_OK: all members have the message, at least one; RSM_ST_NO_RESOURCES: members with
 *         room in their queues have it; RSM_ST_NOT_FOUND: there is no member any more;
 *         RSM_ST_RANGE: too long, and no member has it; else the failure of the last member that
 *         was reachable before.
 */
enum rsm_status sisci_group_trigger(struct sisci_group *group, const void *data, size_t length);
