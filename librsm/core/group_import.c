/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group as one connection. It stands on a segment of the writer's own, which is as large as a
 * member's and which no other process may use. Reads come from there, and it lasts as long as the
 * connection, while members come and go. Each write goes there and to all members.
 */
#include "core/group_import.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "core/export.h"
#include "core/group_internal.h"
#include "transport/instance.h"

enum {
    TEND_MS = 100,
    STACK_BYTES = 128 << 10,
    OWN_MODE = 0600,
};

struct rsmcore_group_conn {
    struct rsm_conn base;  /* what the import has */
    struct rsm_conn *copy; /* to the writer's own segment */
    struct rsmcore_export *own;
    struct rsmcore_group *group;
    struct rsmcore_import *import; /* of which this is the connection */
    unsigned process_epoch;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    bool running, stop;
};

static struct rsmcore_group_conn *group_conn_of(struct rsm_conn *conn)
{
    return (struct rsmcore_group_conn *)conn;
}

static struct rsm_conn *copy_of(struct rsm_conn *conn)
{
    return group_conn_of(conn)->copy;
}

/* ------------------------------------------------------------------ operations */

static enum rsm_status both(enum rsm_status own, enum rsm_status members)
{
    return members == RSM_ST_STALE ? RSM_ST_ABORTED : members == RSM_ST_OK ? own : members;
}

static enum rsm_status conn_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                size_t length)
{
    enum rsm_status own = copy_of(conn)->ops->put(copy_of(conn), offset, src, length);
    return both(own, rsmcore_group_write(group_conn_of(conn)->group, offset, src, 0, length));
}

static enum rsm_status conn_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                      unsigned width, size_t count)
{
    enum rsm_status own = copy_of(conn)->ops->put_elems(copy_of(conn), offset, src, width, count);
    return both(own,
                rsmcore_group_write(group_conn_of(conn)->group, offset, src, width, width * count));
}

static enum rsm_status conn_putv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                 unsigned count, unsigned *done)
{
    enum rsm_status status = RSM_ST_OK;
    for (*done = 0; *done < count && status == RSM_ST_OK; *done += status == RSM_ST_OK)
        status = conn_put(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return status;
}

static enum rsm_status conn_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    return copy_of(conn)->ops->get(copy_of(conn), offset, dst, length);
}

static enum rsm_status conn_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst,
                                      unsigned width, size_t count)
{
    return copy_of(conn)->ops->get_elems(copy_of(conn), offset, dst, width, count);
}

static enum rsm_status conn_getv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                 unsigned count, unsigned *done)
{
    return copy_of(conn)->ops->getv(copy_of(conn), vec, count, done);
}

static enum rsm_status conn_order(struct rsm_conn *conn)
{
    enum rsm_status own = copy_of(conn)->ops->order(copy_of(conn));
    return both(own, rsmcore_group_order(group_conn_of(conn)->group));
}

static enum rsm_status conn_complete(struct rsm_conn *conn)
{
    enum rsm_status own = copy_of(conn)->ops->complete(copy_of(conn));
    return both(own, rsmcore_group_complete(group_conn_of(conn)->group));
}

/* A forked child has no such connection. */
static enum rsm_status conn_health(struct rsm_conn *conn)
{
    return group_conn_of(conn)->process_epoch == rsmcore_process_epoch()
               ? copy_of(conn)->ops->health(copy_of(conn))
               : RSM_ST_ABORTED;
}

static void free_group_conn(struct rsmcore_group_conn *made)
{
    rsmcore_group_disconnect(made->group);
    if (made->process_epoch == rsmcore_process_epoch()) {
        pthread_cond_destroy(&made->wake);
        pthread_mutex_destroy(&made->lock);
    }
    free(made);
}

static void conn_disconnect(struct rsm_conn *conn)
{
    struct rsmcore_group_conn *made = group_conn_of(conn);
    struct rsmcore_export *own = made->own;
    made->copy->ops->disconnect(made->copy);
    free_group_conn(made);
    (void)rsmcore_export_destroy(own, RSMCORE_DESTROY_CUT);
}

static const struct rsm_import_ops conn_ops = {
    RSM_IMPORT_OPS_HEAD,
    .name = "group",
    .disconnect = conn_disconnect,
    .put = conn_put,
    .get = conn_get,
    .put_elems = conn_put_elems,
    .get_elems = conn_get_elems,
    .putv = conn_putv,
    .getv = conn_getv,
    .order = conn_order,
    .complete = conn_complete,
    .health = conn_health,
};

/* ------------------------------------------------------------------ members that come and go */

/* The mapping engine sends what has changed. A member that has come just now needs what is stored
 * from now on even if the others have it already: so the engine is to forget what they have. */
static void *tend(void *argument)
{
    struct rsmcore_group_conn *made = argument;
    unsigned before = made->group->joined;
    pthread_mutex_lock(&made->lock);
    while (!made->stop) {
        const struct timespec until = rsm_timespec(rsm_deadline(TEND_MS));
        pthread_cond_timedwait(&made->wake, &made->lock, &until);
        pthread_mutex_unlock(&made->lock);
        unsigned joined = rsmcore_group_tend(made->group);
        if (joined != before)
            rsmcore_import_acquire(made->import);
        before = joined;
        pthread_mutex_lock(&made->lock);
    }
    pthread_mutex_unlock(&made->lock);
    return NULL;
}

void rsmcore_import_end_group(struct rsmcore_group_conn *made)
{
    if (!made->running || made->process_epoch != rsmcore_process_epoch())
        return;
    pthread_mutex_lock(&made->lock);
    made->stop = true;
    pthread_cond_signal(&made->wake);
    pthread_mutex_unlock(&made->lock);
    pthread_join(made->thread, NULL);
    made->running = false;
}

/* ------------------------------------------------------------------ connecting */

/* The size of the first member. */
static enum rsm_status size_of(const struct rsmcore_group *group, uint64_t *size)
{
    enum rsm_status status = RSM_ST_NOT_FOUND;
    for (size_t i = 0; i < group->count; i++) {
        const struct group_node *node = &group->nodes[i];
        if (node->import != NULL) {
            *size = node->import->size;
            return RSM_ST_OK;
        }
        if (rsmcore_group_is_refused(node))
            status = node->status;
    }
    return status;
}

static enum rsm_status start(struct rsmcore_group_conn *made, struct rsmcore_controller *controller,
                             enum rsm_id_space space, uint32_t segment_id, uint64_t *size)
{
    enum rsm_status status = rsmcore_group_connect(controller, space, segment_id, &made->group);
    if (status != RSM_ST_OK) {
        free(made);
        return status;
    }
    made->process_epoch = rsmcore_process_epoch();
    pthread_mutex_init(&made->lock, NULL);
    rsm_cond_init(&made->wake);
    status = size_of(made->group, size);
    if (status != RSM_ST_OK)
        free_group_conn(made);
    return status;
}

/* A segment of this process that no other one may use, and a connection to it. */
static enum rsm_status make_own(struct rsmcore_controller *controller, uint64_t size,
                                struct rsmcore_export **own, struct rsmcore_import **import)
{
    uint32_t id = 0, node = 0;
    enum rsm_status status = rsmcore_local_node(&node);
    if (status == RSM_ST_OK)
        status = rsmcore_export_allocate(controller, (size_t)size, OWN_MODE, NULL, own);
    if (status != RSM_ST_OK)
        return status;
    status = rsmcore_export_publish(*own, RSM_ID_SPACE_RSMAPI, &id, RSM_PUBLISH_ASSIGN_ID, NULL, 0);
    if (status == RSM_ST_OK)
        status = rsmcore_import_connect(controller, node, RSM_ID_SPACE_RSMAPI, id,
                                        RSM_RIGHT_READ | RSM_RIGHT_WRITE, import);
    if (status == RSM_ST_OK) /* those that are connected stay */
        (void)rsmcore_export_unpublish(*own, RSM_UNPUBLISH_KEEP_CONNECTIONS);
    else
        (void)rsmcore_export_destroy(*own, RSMCORE_DESTROY_CUT);
    return status;
}

/* The group takes the place of the connection to the writer's own segment. */
static enum rsm_status take_place(struct rsmcore_group_conn *made, struct rsmcore_import *import)
{
    struct rsm_conn *copy = rsmcore_import_conn(import);
    made->import = import;
    made->copy = copy;
    made->base = (struct rsm_conn){.ops = &conn_ops,
                                   .port = copy->port,
                                   .caps = RSM_CAP_ASYNC | RSM_CAP_FAULT_SAFE,
                                   .core = copy->core};
    rsmcore_conn_succeed(&made->base, copy);
    import->inner = &made->base;
    import->is_inheritable = import->acquires = false;
    import->reports_health = true;
    import->group = made;
    atomic_store(&import->conn, &made->base);
    made->running = rsm_thread_start(&made->thread, "rsm-group", STACK_BYTES, tend, made) == 0;
    return made->running ? RSM_ST_OK : RSM_ST_NO_RESOURCES;
}

enum rsm_status rsmcore_import_connect_group(struct rsmcore_controller *controller,
                                             enum rsm_id_space space, uint32_t segment_id,
                                             struct rsmcore_import **out)
{
    uint64_t size = 0;
    struct rsmcore_group_conn *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = start(made, controller, space, segment_id, &size);
    if (status != RSM_ST_OK)
        return status;
    status = make_own(controller, size, &made->own, out);
    if (status != RSM_ST_OK) {
        free_group_conn(made);
        return status;
    }
    status = take_place(made, *out);
    if (status != RSM_ST_OK)
        rsmcore_import_disconnect(*out);
    return status;
}
