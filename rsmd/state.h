/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The node in one line, for the service manager's status display. */
#ifndef RSMD_STATE_H
#define RSMD_STATE_H

#include "node/node.h"

enum { RSMD_STATE_BYTES = 256 };

/** "node 2: 1 of 2 links up; 3 controllers; failed: wrsm0 (reason)". */
void rsmd_state_text(const struct rsmd_node *node, char text[RSMD_STATE_BYTES]);

/** Send it to the service manager, if it has changed. Never waits. */
void rsmd_state_report(const struct rsmd_node *node);

#endif
