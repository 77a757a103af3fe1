/* SPDX-License-Identifier: BSD-3-Clause */
/* The transfers of the table, in terms of streams. */
#include "transport/verbs/import/stream.h"

static enum rsm_status move(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                            enum direction direction, unsigned *done)
{
    struct verbs_conn *verbs = verbs_of(conn);
    struct stream stream = {.conn = verbs, .vec = vec, .count = count, .unit = verbs->max_message};
    return verbs_stream_run(&stream, direction, done);
}

enum rsm_status verbs_put(struct rsm_conn *conn, uint64_t offset, const void *src, size_t length)
{
    struct rsm_transfer entry = {
        .local = (void *)(uintptr_t)src, .remote = offset, .length = length};
    unsigned done;
    return move(conn, &entry, 1, WRITING, &done);
}

/* A get of one entry that registers its destination for this transfer alone. It pins every page,
 * and pays where a copy of as much costs more. Memory that cannot be registered is copied to. */
static enum rsm_status get_registering(struct verbs_conn *conn, const struct rsm_transfer *entry)
{
    unsigned done;
    struct verbs_region once = {.start = (uintptr_t)entry->local, .length = entry->length};
    struct stream stream = {.conn = conn, .vec = entry, .count = 1, .unit = conn->max_message};
    once.mr = ibv_reg_mr(conn->port->pd, entry->local, entry->length, IBV_ACCESS_LOCAL_WRITE);
    stream.extra = once.mr != NULL ? &once : NULL;
    enum rsm_status status = verbs_stream_run(&stream, READING, &done);
    if (once.mr != NULL)
        ibv_dereg_mr(once.mr);
    return status;
}

static bool is_registered(struct verbs_port *port, const struct rsm_transfer *entry)
{
    if (atomic_load(&port->region_count) == 0)
        return false;
    pthread_rwlock_rdlock(&port->regions_lock);
    bool found = verbs_region_of(port, entry->local, entry->length) != NULL;
    pthread_rwlock_unlock(&port->regions_lock);
    return found;
}

enum rsm_status verbs_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    struct verbs_conn *verbs = verbs_of(conn);
    struct verbs_port *port = verbs->port;
    struct rsm_transfer entry = {.local = dst, .remote = offset, .length = length};
    unsigned done;
    if (length < port->register_from || !verbs_may_allocate() || is_registered(port, &entry))
        return move(conn, &entry, 1, READING, &done);
    return get_registering(verbs, &entry);
}

static enum rsm_status elements(struct rsm_conn *conn, const struct rsm_transfer *entry,
                                unsigned width, enum direction direction)
{
    unsigned done;
    if (width != 1 && width != 2 && width != 4 && width != 8)
        return RSM_ST_INVALID;
    struct stream stream = {
        .conn = verbs_of(conn), .vec = entry, .count = 1, .unit = width, .elements = true};
    return verbs_stream_run(&stream, direction, &done);
}

enum rsm_status verbs_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                unsigned width, size_t count)
{
    struct rsm_transfer entry = {
        .local = (void *)(uintptr_t)src, .remote = offset, .length = count * width};
    return elements(conn, &entry, width, WRITING);
}

enum rsm_status verbs_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst, unsigned width,
                                size_t count)
{
    struct rsm_transfer entry = {.local = dst, .remote = offset, .length = count * width};
    return elements(conn, &entry, width, READING);
}

enum rsm_status verbs_putv(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                           unsigned *done)
{
    return move(conn, vec, count, WRITING, done);
}

enum rsm_status verbs_getv(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                           unsigned *done)
{
    return move(conn, vec, count, READING, done);
}
