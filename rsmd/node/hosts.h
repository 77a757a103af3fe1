/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The interface to nodes of other hosts. rsmd/remote/ implements it if there are links. Without
 * links every node of another host is out of reach.
 */
#pragma once

#include "node/call.h"

struct rsmd_trigger;

struct rsmd_hosts_ops {
    /** Whether the link to a node is up. */
    bool (*is_up)(const struct rsmd_node *node, uint32_t id);
    /** Whether a node can be taken for reachable: its link is up, or is made on demand and
     *  no attempt has just failed. */
    bool (*may_reach)(const struct rsmd_node *node, uint32_t id);
    /** Whether the link to a node is up, or await() makes it. */
    bool (*may_link)(const struct rsmd_node *node, uint32_t id);
    /** Have the link to a node made, if it is made on demand and not there: the request is served
     *  again later (`later`). RSM_ST_OK without that: the link is up. RSM_ST_UNREACHABLE,
     *  RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES. */
    enum rsm_status (*await)(struct rsmd_call *call, uint32_t id);
    /** Call @p visit for each node to which the link is up. */
    void (*each_up)(const struct rsmd_node *node, void (*visit)(void *context, uint32_t id),
                    void *context);
    /** Forward an IMPORT_CONNECT, to be answered later. RSM_ST_UNREACHABLE, RSM_ST_NO_MEMORY,
     *  RSM_ST_NO_RESOURCES: at once. Awaits the link. */
    enum rsm_status (*connect)(struct rsmd_call *call, struct rsmd_controller *controller);
    /** Forward a request to find or trigger an interrupt of a node of another host, to be answered
     *  later; as connect. */
    enum rsm_status (*trigger)(struct rsmd_call *call, uint32_t node,
                               const struct rsmd_trigger *trigger);
    /** The fabric of a controller does not reach a node any more, whatever the link's state. End
     *  the connections with that node over the controller, and notify the node. */
    void (*cut)(struct rsmd_node *node, const struct rsmd_controller *controller, uint32_t id);
    /** The same for all nodes. */
    void (*cut_all)(struct rsmd_node *node, const struct rsmd_controller *controller);
};

/** No links. */
extern const struct rsmd_hosts_ops rsmd_no_hosts;
