/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Events of the fabrics. Calls the transports on rsmd's thread, passes on what they report
 *  of importers, and lets threads run their jobs. */
#ifndef RSMD_FABRIC_H
#define RSMD_FABRIC_H

#include <stdbool.h>

#include "node/node.h"

struct event_base;
struct rsmd_fabric;

/** Watch the ports of all controllers of @p node, which must outlive it. NULL: out of memory. */
struct rsmd_fabric *rsmd_fabric_start(struct event_base *base, struct rsmd_node *node);
/** Watch the port of one more controller, if it has a descriptor to watch. False: out of memory. */
bool rsmd_fabric_add(struct rsmd_fabric *fabric, struct event_base *base, struct rsmd_node *node,
                     struct rsmd_controller *controller);
/** Watch no more; NULL is harmless. */
void rsmd_fabric_stop(struct rsmd_fabric *fabric);

/*
 * Which nodes a controller's fabric reaches, as its transport reports. None of this concerns nodes
 * on this host, which need no fabric.
 */

/** Whether the fabric of a controller reaches a node of another host. True if its transport does
 *  not report that. The state of the cluster link does not matter. */
bool rsmd_reaches(const struct rsmd_controller *controller, uint32_t id);

/** The port is up or down. When it goes down, its connections to and from other hosts end.
 */
void rsmd_reach_link(struct rsmd_node *node, struct rsmd_controller *controller, bool up);

/** The port reaches a node, or does not any more. Connections with that node over this controller
 *  end unless it was reached before with the same epoch. Ids that no node can have are ignored. */
void rsmd_reach_node(struct rsmd_node *node, struct rsmd_controller *controller, uint32_t id,
                     bool up, uint64_t epoch);

/** The controller ends. */
void rsmd_reach_forget(struct rsmd_controller *controller);

#endif
