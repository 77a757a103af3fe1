/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The node halves of transports, by name. */
#pragma once

#include "rsm/transport.h"

/**
 * The completed node table of transport @p name (any string; it may come from another process).
 * "shm" is built in; others are looked for in the module directory. The result is the same at each
 * call and stays valid. Thread-safe, without locks.
 * @return NULL if there is none; the reason has been logged, once a name.
 */
const struct rsm_node_ops *rsmcore_transport_node(const char *name);

/** Make a table known that no module holds, for tests. @p given must stay valid. RSM_ST_BUSY: there
 *  is one of that name; RSM_ST_VERSION, RSM_ST_INVALID: see generic.h; RSM_ST_NO_MEMORY. */
enum rsm_status rsmcore_transport_node_add(const struct rsm_node_ops *given);
