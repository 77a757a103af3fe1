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

#endif
