/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Groups of data interrupts: all of one number on the nodes of one adapter, triggered one after the
 * other. Who creates the number later belongs to the group from then on.
 */
#ifndef SISCI_BROADCAST_H
#define SISCI_BROADCAST_H

#include "core/interrupt.h"

struct sisci_group;

/** Find the group of a number. RSM_ST_NOT_FOUND: no node has the number; RSM_ST_NO_MEMORY; else
 *  what rsmcore_topology_get() says. */
enum rsm_status sisci_group_connect(struct rsmcore_controller *controller, uint32_t number,
                                    struct sisci_group **group);
/** Nobody triggers it any more. */
void sisci_group_disconnect(struct sisci_group *group);

/**
 * Trigger all members, one caller at a time.
 * @return RSM_ST_OK: all have the message, one at least; RSM_ST_NO_RESOURCES: those have it whose
 *         queue had room; RSM_ST_NOT_FOUND: there is no member any more; RSM_ST_RANGE: too long,
 *         and nobody has it; else why the last member that could be reached before cannot be.
 */
enum rsm_status sisci_group_trigger(struct sisci_group *group, const void *data, size_t length);

#endif
