/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The other nodes: those of this host by their sockets, others by the links to them. Looking
 *  never blocks. */
#pragma once

#include "node/node.h"

/** Connection states as the API shows them. */
enum rsmd_node_state {
    RSMD_NODE_UNKNOWN = 0,
    RSMD_NODE_DOWN = 1,
    RSMD_NODE_ACTIVE = 3,
};

/** Check whether the rsmd of another node answers at its socket on this host. UNKNOWN: there is no
 *  socket. */
enum rsmd_node_state rsmd_node_probe(const struct rsmd_node *node, uint32_t remote);

/**
 * Where node @p id is, seen from @p controller.
 * @param reply  filled on RSM_ST_OK.
 * @return RSM_ST_OK; RSM_ST_NO_CONTROLLER: loopback to another node; RSM_ST_NO_ROUTE: not known;
 *         RSM_ST_UNREACHABLE: known, but not running.
 */
enum rsm_status rsmd_locate(struct rsmd_node *node, const struct rsmd_controller *controller,
                            uint32_t id, struct rsm_locate_reply *reply);

/**
 * Whether a process of this host may belong to node @p id: the local node, or one whose daemon
 * listens on this host and that has no link from another host.
 * @return RSM_ST_OK; RSM_ST_DENIED; RSM_ST_NO_RESOURCES: no descriptor is left to look with.
 */
enum rsm_status rsmd_node_here(struct rsmd_node *node, uint32_t id);

/** Free the entries. */
void rsmd_topology_free(struct rsmd_topology *topology);

/** Whether node @p id may connect at some time: it is configured or was found. */
bool rsmd_node_known(const struct rsmd_node *node, uint32_t id);
