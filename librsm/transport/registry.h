/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Tables by transport name, for either half: built in, added by a program, or found in a
 *  module.
 *
 *  A table that was once handed out stays valid and unchanged for the life of the process. Nothing
 *  here takes a lock: a lookup is safe in a child that was forked while another thread was inside,
 *  and a module whose constructor calls librsm cannot deadlock with the dynamic loader. */
#pragma once

#include <stdatomic.h>

#include "transport/generic.h"

/** The transport that every node has: it needs no hardware and reaches the nodes of one host. */
#define RSM_TRANSPORT_LOCAL "shm"

/** What the transport `best` tries, in this order, unless a controller's options say otherwise. */
#define RSM_TRANSPORT_BEST_ORDER "verbs:tcp"

struct rsmcore_registry_entry;

/** What differs between the halves; `entries` and `complaints` start out empty. */
struct rsmcore_registry {
    const char *half;            /**< for messages, e.g. "import" */
    const char *symbol;          /**< that modules define */
    size_t table_size;           /**< bytes of a completed table */
    const void *const *built_in; /**< tables, a NULL after the last */
    const char *(*flaw)(const void *given);
    enum rsm_status (*complete)(const void *given, void *full);
    _Atomic(struct rsmcore_registry_entry *) entries;
    atomic_uint complaints;
};

/** The completed table of transport @p name, or NULL: what is wrong is logged, once a name. */
const void *rsmcore_registry_find(struct rsmcore_registry *registry, const char *name);

/** Complete a table and make it known under its name. RSM_ST_BUSY: there is one of that name;
 *  RSM_ST_NO_MEMORY; or what `complete` says. */
enum rsm_status rsmcore_registry_add(struct rsmcore_registry *registry, const void *given);

/**
 * The completed import table of transport @p name (any string; it may come from another process).
 * "shm" is built in; others are looked for in the module directory. The result is the same at each
 * call and stays valid. Thread-safe, without locks.
 * @return NULL if there is none; the reason has been logged, once a name.
 */
const struct rsm_import_ops *rsmcore_transport_import(const char *name);

/** Make a table known that no module holds, for tests. @p given must stay valid. RSM_ST_BUSY: there
 *  is one of that name; RSM_ST_VERSION, RSM_ST_INVALID: see generic.h; RSM_ST_NO_MEMORY. */
enum rsm_status rsmcore_transport_import_add(const struct rsm_import_ops *given);

/** The same of the node half. */
const struct rsm_node_ops *rsmcore_transport_node(const char *name);
