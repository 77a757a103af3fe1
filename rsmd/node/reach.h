/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Which nodes a controller's fabric reaches, as its transport reports. A node on this host is
 * reached without any fabric, and none of this counts for it.
 */
#ifndef RSMD_REACH_H
#define RSMD_REACH_H

#include "node/node.h"

/** Whether the fabric of a controller reaches a node of another host, as far as its transport
 * says: true where that reports nothing. Whether the daemons' link is up is another question. */
bool rsmd_reaches(const struct rsmd_controller *controller, uint32_t id);

/** The port's own link went or came. Connections over it to and from other hosts end when it goes.
 */
void rsmd_reach_link(struct rsmd_node *node, struct rsmd_controller *controller, bool up);

/** The port reaches a node, or does not any more. Connections with that node over this controller
 *  end unless it was reached before with the same epoch. Ids that no node can have are ignored. */
void rsmd_reach_node(struct rsmd_node *node, struct rsmd_controller *controller, uint32_t id,
                     bool up, uint64_t epoch);

/** The controller ends. */
void rsmd_reach_forget(struct rsmd_controller *controller);

#endif
