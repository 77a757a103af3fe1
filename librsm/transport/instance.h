/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Open ports and make connections: check what a transport returns, and fill in its base. As
 *  thread-safe as the operations behind it. */
#pragma once

#include "transport/generic.h"

/**
 * Open a port. @p ops is a completed table; `size` of @p info need not be set.
 * @return what open() says, or RSM_ST_INVALID when the port has capabilities whose operations the
 *         transport does not bring; the log says which transport.
 */
enum rsm_status rsmcore_port_open(const struct rsm_import_ops *ops,
                                  const struct rsm_controller_info *info, struct rsm_port **port);
void rsmcore_port_close(struct rsm_port *port);

/** What the transport asks of an exporter's node, whose number and address are set; the length is 0
 *  if it asks nothing. RSM_ST_INVALID: it wrote too much; else what connect_request() says. */
enum rsm_status rsmcore_port_request(struct rsm_port *port, struct rsm_connect_request *request);

/** Connect. RSM_ST_INVALID, as above: the connection has capabilities that its port has not. */
enum rsm_status rsmcore_conn_open(struct rsm_port *port, const struct rsm_offer *offer,
                                  uint64_t size, uint32_t rights, struct rsm_conn **conn);
/** @p conn, which no thread uses yet, takes the place of @p former and has its `core`: completions
 *  of works that were submitted to that are polled from this one. */
void rsmcore_conn_succeed(struct rsm_conn *conn, struct rsm_conn *former);
/** The connection that this one has succeeded, if that has completions of its own; else NULL. */
struct rsm_conn *rsmcore_conn_former(const struct rsm_conn *conn);
/** Submit, poll and wait of a connection, in the form that it has. */
const struct rsm_completion_ops *rsmcore_conn_completions(const struct rsm_conn *conn);
/** Disconnect, with all that the core keeps for the connection. */
void rsmcore_conn_close(struct rsm_conn *conn);

/** Open a port of the node half. Capabilities that this version does not know are dropped.
 *  RSM_ST_INVALID: capabilities without their operations. */
enum rsm_status rsmcore_node_port_open(const struct rsm_node_ops *ops,
                                       const struct rsm_controller_info *info,
                                       struct rsm_node_port **port);

/** What is wrong with an extent that was made for @p length bytes, in English, or NULL. */
const char *rsmcore_extent_flaw(const struct rsm_node_port *port, const struct rsm_extent *extent,
                                uint64_t length);
