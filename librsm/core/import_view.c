/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/import_view.h"

#include <stdlib.h>

#include "control/control.h"
#include "transport/generic.h"
#include "transport/instance.h"

/* What the view has in place of the transport's connection, which belongs to the import. */
struct view_conn {
    struct rsm_conn base;
    struct rsm_conn *inner;
    rsmcore_import_wrote wrote;
    void *argument;
    unsigned process_epoch;
};

static struct view_conn *view_of(struct rsm_conn *conn)
{
    return (struct view_conn *)conn; /* its first member */
}

static struct rsm_conn *inner_of(struct rsm_conn *conn)
{
    return view_of(conn)->inner;
}

/* ------------------------------------------------------------------ operations */

static enum rsm_status note(struct rsm_conn *conn, uint64_t offset, uint64_t length,
                            enum rsm_status status)
{
    if (status == RSM_ST_OK && length > 0)
        view_of(conn)->wrote(view_of(conn)->argument, offset, length);
    return status;
}

static enum rsm_status view_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                size_t length)
{
    return note(conn, offset, length,
                inner_of(conn)->ops->put(inner_of(conn), offset, src, length));
}

static enum rsm_status view_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                      unsigned width, size_t count)
{
    return note(conn, offset, width * count,
                inner_of(conn)->ops->put_elems(inner_of(conn), offset, src, width, count));
}

static enum rsm_status view_putv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                 unsigned count, unsigned *done)
{
    enum rsm_status status = RSM_ST_OK;
    for (*done = 0; *done < count && status == RSM_ST_OK; *done += status == RSM_ST_OK)
        status = view_put(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return status;
}

static enum rsm_status view_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    return inner_of(conn)->ops->get(inner_of(conn), offset, dst, length);
}

static enum rsm_status view_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst,
                                      unsigned width, size_t count)
{
    return inner_of(conn)->ops->get_elems(inner_of(conn), offset, dst, width, count);
}

static enum rsm_status view_getv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                 unsigned count, unsigned *done)
{
    return inner_of(conn)->ops->getv(inner_of(conn), vec, count, done);
}

static enum rsm_status view_order(struct rsm_conn *conn)
{
    return inner_of(conn)->ops->order(inner_of(conn));
}

/* The mapping engine looks at the failures of what it has been given. */
static enum rsm_status view_complete(struct rsm_conn *conn)
{
    struct rsm_conn *inner = inner_of(conn);
    enum rsm_status status = inner->ops->complete(inner);
    __atomic_store_n(&conn->failures, rsm_conn_failures(inner), __ATOMIC_RELEASE);
    return status;
}

static enum rsm_status view_health(struct rsm_conn *conn)
{
    return view_of(conn)->process_epoch == rsmcore_process_epoch()
               ? inner_of(conn)->ops->health(inner_of(conn))
               : RSM_ST_ABORTED;
}

static void view_disconnect(struct rsm_conn *conn)
{
    free(view_of(conn));
}

static const struct rsm_import_ops view_ops = {
    RSM_IMPORT_OPS_HEAD,
    .name = "view",
    .disconnect = view_disconnect,
    .put = view_put,
    .get = view_get,
    .put_elems = view_put_elems,
    .get_elems = view_get_elems,
    .putv = view_putv,
    .getv = view_getv,
    .order = view_order,
    .complete = view_complete,
    .health = view_health,
};

/* ------------------------------------------------------------------ beginning and end */

/* A transport that maps has put and get that only copy. */
static struct view_conn *make_conn(struct rsm_conn *inner)
{
    struct view_conn *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    bool safe = (inner->caps & (RSM_CAP_MAP | RSM_CAP_FAULT_SAFE)) != 0;
    made->base = (struct rsm_conn){.ops = &view_ops,
                                   .port = inner->port,
                                   .caps = RSM_CAP_ASYNC | (safe ? RSM_CAP_FAULT_SAFE : 0)};
    made->base.failures = rsm_conn_failures(inner);
    made->inner = inner;
    made->process_epoch = rsmcore_process_epoch();
    made->base.core = rsmcore_completions_make(&made->base, rsmcore_guard_process());
    if (made->base.core != NULL)
        return made;
    free(made);
    return NULL;
}

/* What it has of its own is the connection, and what goes with that. */
static void fill(struct rsmcore_import *view, const struct rsmcore_import *import)
{
    view->slot = import->slot;
    view->table = import->table;
    view->generation = import->generation;
    view->rights = import->rights;
    view->inner = import->inner;
    view->reports_health = true;
    view->acquires = import->acquires;
    view->length = import->length;
    view->size = import->size;
    view->control = rsmcore_control_hold(import->control);
    view->controller = rsmcore_controller_hold(import->controller);
    view->id = import->id;
    view->process_epoch = rsmcore_process_epoch();
    view->is_view = true;
    pthread_mutex_init(&view->works.lock, NULL);
    pthread_cond_init(&view->works.taken, NULL);
}

enum rsm_status rsmcore_import_view_make(struct rsmcore_import *import, rsmcore_import_wrote wrote,
                                         void *argument, struct rsmcore_import **view)
{
    struct rsmcore_import *made = calloc(1, sizeof *made);
    struct view_conn *conn = made != NULL ? make_conn(import->inner) : NULL;
    if (conn == NULL) {
        free(made);
        return RSM_ST_NO_MEMORY;
    }
    conn->wrote = wrote;
    conn->argument = argument;
    fill(made, import);
    atomic_store(&made->conn, &conn->base);
    *view = made;
    return RSM_ST_OK;
}

void rsmcore_import_view_end(struct rsmcore_import *view)
{
    rsmcore_conn_close(rsmcore_import_conn(view));
    rsmcore_controller_close(view->controller);
    rsmcore_control_release(view->control);
    if (view->process_epoch == rsmcore_process_epoch()) {
        pthread_cond_destroy(&view->works.taken);
        pthread_mutex_destroy(&view->works.lock);
    }
    free(view);
}
