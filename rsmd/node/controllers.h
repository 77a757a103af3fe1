/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Controllers of the node. */
#pragma once

#include "node/node.h"

/** Open loopback and what the configuration names. A configured controller whose port cannot be
 *  opened is left out with a message in the log; false: loopback could not be opened, and the node
 *  cannot run. */
bool rsmd_controllers_open(struct rsmd_node *node, char *why, size_t why_size);
/** Set one user's share at all ports. */
void rsmd_controllers_limit_users(const struct rsmd_node *node);
/** Open one more controller. RSM_ST_NO_MEMORY: try later. Any other failure is in the log and among
 *  the node's failed controllers. */
enum rsm_status rsmd_controller_add(struct rsmd_node *node,
                                    const struct rsmd_conf_controller *configured);
void rsmd_controllers_close(struct rsmd_node *node);

/** Close a controller that no client has used yet. */
void rsmd_controller_remove(struct rsmd_node *node, struct rsmd_controller *controller);
/** Forget that a controller failed: it is tried again, or not wanted any more. */
void rsmd_controller_forget_failure(struct rsmd_node *node, const char *name);

/** Check that the transports that the configuration names are installed. A missing one is an error
 *  of the configuration. */
void rsmd_controllers_check(const struct rsmd_conf *conf, struct rsmd_conf_errors *errors);

/**
 * Let the transports check the options of the controllers, and whether the devices exist and are
 * usable.
 * @param errors    options that are wrong.
 * @param warnings  what may change without the file.
 */
void rsmd_controllers_look(const struct rsmd_conf *conf, struct rsmd_conf_errors *errors,
                           struct rsmd_conf_errors *warnings);

/** By configured name, without regard to case; NULL if there is none. */
struct rsmd_controller *rsmd_controller_named(const struct rsmd_node *node, const char *name);

/** The one that every node has. */
struct rsmd_controller *rsmd_controller_loopback(const struct rsmd_node *node);

/** The hardware address that the node shows. On shm it is the node's id. */
uint64_t rsmd_controller_address(const struct rsmd_controller *controller, uint32_t node);
