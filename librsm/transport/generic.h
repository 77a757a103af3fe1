/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Checks a transport's tables and completes them: every optional operation that a transport leaves
 * out is replaced by its generic form, so that no caller ever tests for NULL.
 *
 * A given table may be shorter or longer than this version's: its `size` decides which members
 * are there. It is only read; a completed table is a copy. Everything here is thread-safe.
 */
#ifndef RSMCORE_TRANSPORT_GENERIC_H
#define RSMCORE_TRANSPORT_GENERIC_H

#include <stdbool.h>

#include "rsm/transport.h"

/** What both tables begin with. */
struct rsmcore_table_head {
    uint32_t abi_version;
    size_t size;
    const char *name;
};

/** Whether @p name can be a transport's: 1 to RSM_TRANSPORT_NAME_MAX - 1 of [a-z0-9_]. */
bool rsmcore_transport_name_valid(const char *name);

/** What is wrong with a table, in English, or NULL if nothing is. */
const char *rsmcore_import_ops_flaw(const struct rsm_import_ops *given);
const char *rsmcore_node_ops_flaw(const struct rsm_node_ops *given);

/**
 * Copy @p given to @p full and supply the generic forms of what it lacks. Those reach the
 * transport by `conn->ops`, which must be the completed table. Capabilities that this version does
 * not know are dropped.
 * @return RSM_ST_OK; else *full is untouched: RSM_ST_VERSION (a table of another ABI),
 *         RSM_ST_INVALID (a mandatory member is missing, members of a pair or a capability and its
 *         members disagree, the name is unusable).
 */
enum rsm_status rsmcore_import_ops_complete(const struct rsm_import_ops *given,
                                            struct rsm_import_ops *full);
/** The same for the node half. */
enum rsm_status rsmcore_node_ops_complete(const struct rsm_node_ops *given,
                                          struct rsm_node_ops *full);

#endif
