/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the rest of the core needs of a controller: transport ports and extents. */
#pragma once

#include "core/controller.h"
#include "region/region.h"
#include "control/control.h"

/** The controller's port on a transport, opened at first use and kept. Nodes of one host reach
 *  each other by another transport than the controller's own, so there can be several. */
enum rsm_status rsmcore_controller_port(struct rsmcore_controller *controller,
                                        const struct rsm_import_ops *ops, struct rsm_port **port);

/** What the controller's transport asks of an exporter's node, whose number and address are set. A
 *  transport that asks nothing leaves the length 0. RSM_ST_INVALID: it wrote too much; and what
 *  connect_request() says. */
enum rsm_status rsmcore_controller_request(struct rsmcore_controller *controller,
                                           struct rsm_connect_request *request);
/** The name of that transport. */
const char *rsmcore_controller_transport(const struct rsmcore_controller *controller);

/** Where the controller's extents come from; valid as long as the controller. */
struct rsmcore_extent_source rsmcore_controller_extents(struct rsmcore_controller *controller);

/** Where a node is. */
struct rsmcore_place {
    struct rsmcore_control *control;  /* to the rsmd that answers for it */
    char address[RSM_PROTO_NAME_MAX]; /* of a node of another host, if one is configured; else "" */
};

/** Find the rsmd that answers for @p node: the own one, which also does so for nodes of other
 * hosts, or that of another node of this host. @return RSM_ST_OK and a control connection, which
 * the caller releases; RSM_ST_NO_CONTROLLER: loopback to another node; RSM_ST_NO_ROUTE,
 * RSM_ST_UNREACHABLE, RSM_ST_VERSION, RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES. */
enum rsm_status rsmcore_route(const struct rsmcore_controller *controller, uint32_t node,
                              struct rsmcore_place *place);
