/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Controllers that this process has opened, and the topology behind them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/exports.h"
#include "protocol/proto.h"

RSMCORE_EXPORTS_BEGIN

struct rsmcore_controller;

/**
 * Open the controller named @p name, byte for byte as configured on this node; an API may have
 * rules for names on top of that. Every call makes a new object; a caller that wants one handle per
 * controller keeps a table.
 * @return RSM_ST_OK; RSM_ST_NO_CONTROLLER: not configured, or its transport is not installed;
 *         RSM_ST_UNREACHABLE: no daemon answers; RSM_ST_NO_MEMORY; RSM_ST_VERSION.
 */
enum rsm_status rsmcore_controller_open(const char *name, struct rsmcore_controller **controller);

/** The same by number: controller @p unit, from 0, among those on @p transport (NULL: on any) in
 * the order of the node's configuration. Loopback is not counted. */
enum rsm_status rsmcore_controller_open_unit(const char *transport, unsigned unit,
                                             struct rsmcore_controller **controller);

/** The same by the number that it is configured to have as an adapter (rsm.conf(5)). */
enum rsm_status rsmcore_controller_open_adapter(unsigned adapter,
                                                struct rsmcore_controller **controller);

/** The name of controller @p unit, numbered as above. @p name has RSM_PROTO_NAME_MAX bytes. What
 *  rsmcore_controller_open() returns, but for what concerns the transport. */
enum rsm_status rsmcore_controller_name_of_unit(const char *transport, unsigned unit, char *name);

/** One more reference; rsmcore_controller_close() gives it up. */
struct rsmcore_controller *rsmcore_controller_hold(struct rsmcore_controller *controller);

/** Give up the opener's reference. Segments made through the controller keep it until they end. */
void rsmcore_controller_close(struct rsmcore_controller *controller);

const struct rsm_port_attr *rsmcore_controller_attr(const struct rsmcore_controller *controller);
/** Name as configured on this node. */
const char *rsmcore_controller_name(const struct rsmcore_controller *controller);
/** What is configured about software mappings over it. Asks the daemon, if that knows more than
 *  it said when the controller was opened. */
struct mapping_settings
rsmcore_controller_map_settings(const struct rsmcore_controller *controller);
/** Whether it reaches only the local node. */
bool rsmcore_controller_is_loopback(const struct rsmcore_controller *controller);

/** Make local memory ready for transfers through this controller (transport's
 *  register_memory()). *cookie is for unregister and may be NULL. */
enum rsm_status rsmcore_controller_register(struct rsmcore_controller *controller, void *address,
                                            size_t length, void **cookie);
void rsmcore_controller_unregister(struct rsmcore_controller *controller, void *cookie);

/** Get the local node's id. RSM_ST_UNREACHABLE: there is no daemon. */
enum rsm_status rsmcore_local_node(uint32_t *node);

/** Get the nodes of a name, of a host or an adapter, from this node's rsm.conf. @return RSM_ST_OK,
 *  RSM_ST_NOT_FOUND, RSM_ST_UNREACHABLE: no daemon; else what rsmcore_control_call() says. */
enum rsm_status rsmcore_nodes_named(const char *name, struct rsm_named_reply *nodes);

struct rsmcore_topology_controller {
    char name[RSM_PROTO_NAME_MAX];
    uint64_t hardware_address;
    uint32_t remote_count;
    struct rsm_topology_remote *remotes;
};
struct rsmcore_topology {
    uint32_t local_node;
    uint32_t controller_count; /* loopback is not among them */
    struct rsmcore_topology_controller *controllers;
};

/** A consistent snapshot; free with rsmcore_topology_free(). */
enum rsm_status rsmcore_topology_get(struct rsmcore_topology **topology);
void rsmcore_topology_free(struct rsmcore_topology *topology);

/** Get the nodes that the controller reaches now: the local one, then, unless it is loopback, those
 *  of the topology. *nodes is the caller's, to free. @return as rsmcore_topology_get(). */
enum rsm_status rsmcore_controller_nodes(const struct rsmcore_controller *controller,
                                         uint32_t **nodes, size_t *count);

RSMCORE_EXPORTS_END
