/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Which daemon answers for a node. */
#pragma once

#include "control/control.h"
#include "core/controller.h"

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
