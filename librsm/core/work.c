/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/work.h"

#include <pthread.h>

#include "base/cancel.h"
#include "control/control.h"
#include "transport/instance.h"

enum { TAKE_AT_ONCE = 16 };

bool rsmcore_work_is_asynchronous(const struct rsmcore_import *import, bool read)
{
    const struct rsm_conn *conn = rsmcore_import_conn(import);
    return rsmcore_conn_completions(conn) != &rsmcore_completion_ops ||
           (read && rsmcore_conn_former(conn) != NULL);
}

/* The work is its owner's when `done` is set, and may be gone. */
static void mark(const struct rsm_completion *completion)
{
    struct rsmcore_work *work = (struct rsmcore_work *)(uintptr_t)
                                    completion->cookie; /* NOLINT(performance-no-int-to-ptr) */
    enum rsm_status status = completion->status;
    if (status != RSM_ST_OK && rsmcore_import_aborted(work->import))
        status = RSM_ST_ABORTED;
    work->status = rsmcore_import_note(work->import, status);
    atomic_store_explicit(&work->done, true, memory_order_release);
}

/* Works that were begun before the connection became mappable end through the new one, too. */
static void mark_all_that_ended(struct rsmcore_import *import)
{
    struct rsm_completion taken[TAKE_AT_ONCE];
    struct rsm_conn *conn = rsmcore_import_conn(import);
    const struct rsm_completion_ops *ops = rsmcore_conn_completions(conn);
    unsigned count;
    do {
        count = ops->poll(conn, taken, TAKE_AT_ONCE);
        for (unsigned i = 0; i < count; i++)
            mark(&taken[i]);
    } while (count == TAKE_AT_ONCE);
}

/* Only one thread at a time takes completions: a second one could wait in the transport for what
 * the first has taken already. False: another thread does, and will mark what has ended. */
static bool begin_taking(struct rsmcore_works *works)
{
    pthread_mutex_lock(&works->lock);
    bool begun = !works->taking;
    works->taking = true;
    pthread_mutex_unlock(&works->lock);
    return begun;
}

static void end_taking(struct rsmcore_works *works)
{
    pthread_mutex_lock(&works->lock);
    works->taking = false;
    pthread_cond_broadcast(&works->taken);
    pthread_mutex_unlock(&works->lock);
}

static void take_without_waiting(struct rsmcore_import *import)
{
    if (!begin_taking(&import->works))
        return;
    mark_all_that_ended(import);
    end_taking(&import->works);
}

/* Of a connection with mappings, what the transport itself can read: behind what has been stored,
 * and not to a mapping. */
static struct rsm_conn *beneath_mappings(const struct rsmcore_import *import,
                                         const struct rsm_conn *conn, const struct rsm_work *work)
{
    const struct rsm_mapping_ops *engine = atomic_load(&import->soft);
    struct rsm_conn *former = work->read && engine != NULL ? rsmcore_conn_former(conn) : NULL;
    return former != NULL && !engine->shows(work->transfer.local, work->transfer.length) ? former
                                                                                         : NULL;
}

static enum rsm_status submit(struct rsmcore_import *import, const struct rsm_work *work)
{
    const struct rsm_transfer *transfer = &work->transfer;
    struct rsm_conn *conn = rsmcore_import_conn_for(import, transfer->local, transfer->length);
    struct rsm_conn *beneath = beneath_mappings(import, conn, work);
    if (beneath != NULL) {
        enum rsm_status status = conn->ops->complete(conn);
        return status == RSM_ST_OK ? beneath->ops->completions->submit(beneath, work) : status;
    }
    return rsmcore_conn_completions(conn)->submit(conn, work);
}

enum rsm_status rsmcore_work_post(struct rsmcore_import *import, struct rsmcore_work *work,
                                  const struct rsmcore_work_request *request)
{
    const struct rsm_work asked = {.cookie = (uintptr_t)work,
                                   .read = request->read,
                                   .transfer = {.local = request->local,
                                                .remote = request->offset,
                                                .length = request->length}};
    uint32_t right = request->read ? RSM_RIGHT_READ : RSM_RIGHT_WRITE;
    rsmcore_import_probe(import, right, request->offset, request->length);
    enum rsm_status status = rsmcore_import_check(import, right, request->offset, request->length);
    if (status != RSM_ST_OK)
        return status;
    if (import->process_epoch != rsmcore_process_epoch())
        return RSM_ST_STALE;
    work->import = import;
    atomic_store_explicit(&work->done, false, memory_order_relaxed);
    status = submit(import, &asked);
    if (status != RSM_ST_BUSY)
        return status;
    take_without_waiting(import); /* perhaps no other thread polls */
    return submit(import, &asked);
}

static bool is_done(const struct rsmcore_work *work)
{
    return atomic_load_explicit(&work->done, memory_order_acquire);
}

static bool is_ours(const struct rsmcore_work *work)
{
    return work->import->process_epoch == rsmcore_process_epoch();
}

bool rsmcore_work_poll(struct rsmcore_work *work, enum rsm_status *status)
{
    if (!is_done(work) && !is_ours(work)) {
        *status = RSM_ST_STALE;
        return true;
    }
    if (!is_done(work))
        take_without_waiting(work->import);
    if (!is_done(work))
        return false;
    *status = work->status;
    return true;
}

/* Wait in the transport. Afterwards other waiting threads find their works marked. */
static void take(struct rsmcore_work *work)
{
    struct rsmcore_import *import = work->import;
    struct rsm_conn *conn = rsmcore_import_conn(import);
    enum rsm_status waited = RSM_ST_OK;
    mark_all_that_ended(import);
    if (!is_done(work))
        waited = rsmcore_conn_completions(conn)->wait(conn, -1);
    if (!is_done(work))
        mark_all_that_ended(import);
    /* Nothing is under way, this work least of all. */
    if (waited == RSM_ST_NOT_FOUND && !is_done(work) && conn == rsmcore_import_conn(import))
        mark(&(struct rsm_completion){.cookie = (uintptr_t)work, .status = RSM_ST_TRANSFER});
}

/* Until the work is done, or this thread is the one that takes completions. */
static bool await_turn(struct rsmcore_works *works, const struct rsmcore_work *work)
{
    pthread_mutex_lock(&works->lock);
    while (works->taking && !is_done(work))
        pthread_cond_wait(&works->taken, &works->lock);
    bool turn = !is_done(work);
    if (turn)
        works->taking = true;
    pthread_mutex_unlock(&works->lock);
    return turn;
}

enum rsm_status rsmcore_work_wait(struct rsmcore_work *work)
{
    struct rsmcore_works *works = &work->import->works;
    if (!is_done(work) && !is_ours(work))
        return RSM_ST_STALE;
    RSM_UNCANCELLABLE;
    while (await_turn(works, work)) {
        take(work);
        end_taking(works);
    }
    return work->status;
}
