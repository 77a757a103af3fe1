/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Checks a transport's tables and completes them: every optional operation that a transport
 *  leaves out is replaced by its generic form, so that no caller ever tests for NULL.
 *
 *  A given table may be shorter or longer than this version's: its `size` decides which members are
 *  there. It is only read; a completed table is a copy. Everything here is thread-safe. */
#pragma once

#include <stdbool.h>

#include "rsm/transport.h"

/** The version of the interface that this is, for messages. */
#define RSMCORE_ABI_TEXT      RSMCORE_TEXT_OF(RSM_TRANSPORT_ABI)
#define RSMCORE_TEXT_OF(what) RSMCORE_TEXT(what)
#define RSMCORE_TEXT(what)    #what

/** What both tables begin with. */
struct rsmcore_table_head {
    uint32_t abi_version;
    size_t size;
    const char *name;
};

/** A completed table with its sub-tables; `ops.signals` points into it, so it is never copied. */
struct rsmcore_import_table {
    struct rsm_import_ops ops;
    struct rsm_signal_ops signals;
    struct rsm_import_ops guarded; /* of connections without RSM_CAP_FORK (guard.c) */
};
struct rsmcore_node_table {
    struct rsm_node_ops ops;
    struct rsm_node_signal_ops signals;
    struct rsm_node_import_ops imports;
};

/** Whether @p name can be a transport's: 1 to RSM_TRANSPORT_NAME_MAX - 1 of [a-z0-9_]. */
bool rsmcore_transport_name_valid(const char *name);

/** What is wrong with a table, in English, or NULL if nothing is. */
const char *rsmcore_import_ops_flaw(const struct rsm_import_ops *given);
const char *rsmcore_node_ops_flaw(const struct rsm_node_ops *given);

/**
 * Copy @p given to @p table and supply the generic forms of what it lacks. Those reach the
 * transport by `conn->ops`, which must be the completed table.
 * @return RSM_ST_OK; otherwise *table is untouched: RSM_ST_VERSION (a table of another ABI),
 *         RSM_ST_INVALID (a mandatory member is missing, there is one of members that belong
 *         together, a size or the name is unusable).
 */
enum rsm_status rsmcore_import_ops_complete(const struct rsm_import_ops *given,
                                            struct rsmcore_import_table *table);
/** The same for the node half. */
enum rsm_status rsmcore_node_ops_complete(const struct rsm_node_ops *given,
                                          struct rsmcore_node_table *table);

/** The capabilities (RSM_CAP_*) that ports of a transport with this completed table may have: those
 *  whose operations it brings. */
uint32_t rsmcore_import_abilities(const struct rsm_import_ops *full);

/** Whether the transport can report that a connection has failed; else health() need not be called.
 */
bool rsmcore_import_reports_health(const struct rsm_import_ops *full);

/** The generic form of completions: submit() carries the transfer out. */
extern const struct rsm_completion_ops rsmcore_completion_ops;

/** What the generic form keeps for a connection, at its `core`. */
struct rsmcore_completions;
/** @p conn is the transport's connection, and @p process the generation that made it (guard.c).
 *  NULL: no memory. */
struct rsmcore_completions *rsmcore_completions_make(const struct rsm_conn *conn, unsigned process);
unsigned rsmcore_completions_process(const struct rsmcore_completions *completions);
/** Works were submitted to @p former, too, if that has completions of its own. */
void rsmcore_completions_follow(struct rsmcore_completions *completions, struct rsm_conn *former);
struct rsm_conn *rsmcore_completions_former(const struct rsmcore_completions *completions);
void rsmcore_completions_free(struct rsmcore_completions *completions);

/* guard.c: connections that a forked child must not use */

/** The generation of this process: another one in each forked child. No lock, any thread. */
unsigned rsmcore_guard_process(void);

/** Make of a completed table the one of connections without RSM_CAP_FORK. */
void rsmcore_guard_make(const struct rsm_import_ops *full, struct rsm_import_ops *guarded);
