/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The node's links to other nodes, and what the service manager learns of them. */
#pragma once

#include "server/server.h"

/** Start them, with what serves the other hosts' connections. The node has been restored. False:
 *  @p why has the reason. */
bool rsmd_links_start(struct rsmd_server *server, char *why, size_t why_size);

/** Send the node's state, in one line, to the service manager if it has changed. Never waits. */
void rsmd_report_state(const struct rsmd_node *node);
