/* SPDX-License-Identifier: BSD-3-Clause */
/* Mappings of a connection: the transport's, or the mapping engine's, which is loaded for them. */
#include "core/import.h"

#include "control/control.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/fork.h"
#include "base/log.h"
#include "core/target.h"
#include "transport/instance.h"
#include "transport/module.h"

const struct rsm_mapping_ops *_Atomic rsmcore_mapping_engine;

/* The mapping engine, loaded when it is first wanted; NULL if it is not installed. */
static const struct rsm_mapping_ops *mapping_engine(void)
{
    static const struct rsm_mapping_ops *engine;
    char reason[512];
    if (engine != NULL)
        return engine;
    const struct rsm_mapping_ops *found =
        rsmcore_module_symbol(RSM_MAPPING_NAME, RSM_MAPPING_SYMBOL, reason, sizeof reason);
    if (found == NULL)
        rsm_log_error("no mapping: the transport has none, and the mapping engine: %s", reason);
    else if (found->abi_version != RSM_MAPPING_ABI || found->size < sizeof *found)
        rsm_log_error("no mapping: the mapping engine is that of another version");
    else
        engine = found;
    return engine;
}

/* Held by the thread that gives a connection the mapping engine, which may have to be loaded: it is
 * not taken by fork(2). */
static pthread_mutex_t wrapping_lock = PTHREAD_MUTEX_INITIALIZER;

/* The thread that holds it is the parent's. */
static void after_fork_in_child(void)
{
    wrapping_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

RSMCORE_FORK_PART(wraps, RSMCORE_FORK_WRAPS, after_fork_in_child);

/* Called with the lock held. */
static enum rsm_status wrap(struct rsmcore_import *import, const struct mapping_settings *settings)
{
    struct rsm_conn *conn = rsmcore_import_conn(import);
    if ((conn->caps & RSM_CAP_MAP) != 0)
        return RSM_ST_OK;
    const struct rsm_mapping_ops *engine = mapping_engine();
    if (engine == NULL)
        return RSM_ST_UNSUPPORTED;
    struct rsm_conn *wrapped;
    enum rsm_status status = engine->wrap(conn, import->length, import->rights, settings, &wrapped);
    if (status != RSM_ST_OK)
        return status;
    rsmcore_conn_succeed(wrapped, conn);
    atomic_store(&import->conn, wrapped);
    atomic_store(&import->soft, engine);
    atomic_store(&rsmcore_mapping_engine, engine);
    return RSM_ST_OK;
}

/* Make the connection one that can map. */
static enum rsm_status make_mappable(struct rsmcore_import *import)
{
    RSM_UNCANCELLABLE;
    if ((rsmcore_import_conn(import)->caps & RSM_CAP_MAP) != 0)
        return RSM_ST_OK;
    /* First, because the daemon may take its time. */
    const struct mapping_settings settings = rsmcore_controller_map_settings(import->controller);
    pthread_mutex_lock(&wrapping_lock);
    enum rsm_status status = wrap(import, &settings);
    pthread_mutex_unlock(&wrapping_lock);
    return status;
}

struct rsm_conn *rsmcore_import_conn_for_mapping(struct rsmcore_import *import, const void *local,
                                                 size_t length)
{
    struct rsm_conn *conn = rsmcore_import_conn(import);
    if ((conn->caps & RSM_CAP_MAP) != 0 ||
        !atomic_load(&rsmcore_mapping_engine)->shows(local, length))
        return conn;
    (void)make_mappable(import); /* else as it is: it was possible a moment before the mapping */
    return rsmcore_import_conn(import);
}

static const int64_t COUNTS_PAUSE_NS = 100000000; /* between two reports */

/* Report to rsmd, once and without waiting, how the engine traps accesses. */
static void report_trap(struct rsmcore_import *import)
{
    const struct rsm_mapping_ops *engine = atomic_load(&import->soft);
    if (engine == NULL || import->is_view || atomic_exchange(&import->trap_known, true))
        return;
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_IMPORT_TRAP);
    msg.u.import_trap =
        (struct rsm_import_trap_request){import->id, engine->choice(rsmcore_import_conn(import))};
    rsmcore_control_try_post(import->control, &msg);
}

void rsmcore_import_report_counts(struct rsmcore_import *import, bool at_once)
{
    const struct rsm_mapping_ops *engine = atomic_load(&import->soft);
    if (engine == NULL || import->is_view)
        return;
    const struct mapping_counts counts = engine->counts(rsmcore_import_conn(import));
    uint64_t sum = counts.unknown + counts.blocked + counts.by_calls + counts.evicted;
    if (atomic_load(&import->counts_known) == sum)
        return;
    int64_t now = rsm_clock_ns(), before = atomic_load(&import->counts_at);
    if (!at_once && before != 0 && now - before < COUNTS_PAUSE_NS)
        return;
    atomic_store(&import->counts_at, now);
    if (atomic_exchange(&import->counts_known, sum) == sum ||
        !rsmcore_control_knows(import->control, RSM_MSG_IMPORT_COUNTS))
        return;
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_IMPORT_COUNTS);
    msg.u.import_counts = (struct rsm_import_counts_request){import->id, counts};
    rsmcore_control_try_post(import->control, &msg);
}

enum rsm_status rsmcore_import_map(struct rsmcore_import *import, uint64_t offset, size_t length,
                                   uint32_t rights, bool fixed, void **address)
{
    if (rsmcore_import_aborted(import))
        return RSM_ST_ABORTED;
    if ((rights & ~import->rights) != 0)
        return RSM_ST_DENIED;
    if (length == 0 || !rsmcore_import_in_range(import, offset, length))
        return RSM_ST_RANGE;
    struct rsmcore_target target = {.count = 0};
    enum rsm_status status = fixed ? rsmcore_target_hold(&target, *address, length) : RSM_ST_OK;
    if (status != RSM_ST_OK)
        return status;
    status = make_mappable(import);
    if (status == RSM_ST_OK) {
        struct rsm_conn *conn = rsmcore_import_conn(import);
        status = conn->ops->map(conn, offset, length, rights, fixed, address);
    }
    if (status == RSM_ST_OK)
        report_trap(import);
    else
        rsmcore_target_release(&target);
    return status;
}

enum rsm_status rsmcore_import_unmap(struct rsmcore_import *import, void *address, size_t length)
{
    struct rsm_conn *conn = rsmcore_import_conn(import);
    enum rsm_status status = conn->ops->unmap(conn, address, length);
    rsmcore_import_report_counts(import, true);
    return status;
}
