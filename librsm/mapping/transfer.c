/* SPDX-License-Identifier: BSD-3-Clause */
/* put and get of a connection that is made mappable, in all their forms. */
#include <string.h>

#include "mapping/mapping_internal.h"

enum { BOUNCE_BYTES = 16 * 1024 };

struct transfer {
    uint64_t offset;
    const void *src; /* of a put */
    void *dst;       /* of a get */
    unsigned width;  /* of elements, 0: a block */
    size_t length;   /* bytes */
};

static enum rsm_status to_inner(struct rsm_conn *inner, const struct transfer *what)
{
    const struct rsm_import_ops *ops = inner->ops;
    size_t count = what->width > 0 ? what->length / what->width : 0;
    if (what->src != NULL)
        return what->width == 0
                   ? ops->put(inner, what->offset, what->src, what->length)
                   : ops->put_elems(inner, what->offset, what->src, what->width, count);
    return what->width == 0 ? ops->get(inner, what->offset, what->dst, what->length)
                            : ops->get_elems(inner, what->offset, what->dst, what->width, count);
}

/* After a connection has gone, transfers use private memory, as loads and stores do. The barrier
 * reports that nothing arrives any more. */
static enum rsm_status without_peer(struct mapping *mapping, const struct transfer *what,
                                    enum rsm_status status)
{
    struct rsm_conn *inner = mapping->space.inner;
    struct mapping_mask before;
    if (status == RSM_ST_OK || !mapping_has_views(mapping) ||
        inner->ops->health(inner) == RSM_ST_OK)
        return status;
    mapping_enter(mapping, &before);
    mapping_fail(&mapping->space, status);
    mapping_leave(mapping, &before);
    uint8_t *here = mapping->space.copy + what->offset;
    if (what->src == NULL) {
        if (what->dst != NULL)
            memcpy(what->dst, here, what->length);
        return RSM_ST_OK;
    }
    memcpy(here, what->src, what->length);
    mapping_enter(mapping, &before);
    mapping_show(&mapping->space, what->offset, what->length);
    mapping_leave(mapping, &before);
    return RSM_ST_OK;
}

/* The local memory is the program's, and the transport touches it while no lock is held and no
 * signal is blocked: a fault there is served like any other. */
static enum rsm_status to_space(struct mapping *mapping, const struct transfer *what)
{
    struct mapping_space *space = &mapping->space;
    struct mapping_mask before;
    if (!mapping_has_views(mapping))
        return to_inner(space->inner, what);
    mapping_enter(mapping, &before);
    if (what->src != NULL)
        mapping_before_put(space, what->offset, what->length);
    else
        mapping_before_get(space);
    mapping_leave(mapping, &before);
    enum rsm_status status = to_inner(space->inner, what);
    if (what->src != NULL) {
        mapping_enter(mapping, &before);
        mapping_after_put(space, what->offset, what->length);
        mapping_leave(mapping, &before);
        mapping_reread_all(mapping, mapping_page_of(space, what->offset),
                           mapping_page_of(space, what->offset + what->length - 1) + 1);
    }
    return without_peer(mapping, what, status);
}

/* Whether all transfers since @p failures was the count have arrived. */
static enum rsm_status settle(struct mapping *mapping, uint32_t failures)
{
    struct rsm_conn *inner = mapping->space.inner;
    enum rsm_status status = RSM_ST_OK;
    struct mapping_mask before;
    if (mapping_is_foreign(mapping)) {
        status = inner->ops->complete(inner);
    } else {
        mapping_enter(mapping, &before);
        mapping_settle(&mapping->space);
        mapping_leave(mapping, &before);
    }
    return status == RSM_ST_OK && rsm_conn_failures(inner) != failures ? RSM_ST_TRANSFER : status;
}

/* From or to memory of a view: no transport is handed that, least of all to an adapter, which would
 * not fault but read what is not there. */
static enum rsm_status bounced(struct mapping *mapping, const struct transfer *what)
{
    _Alignas(uint64_t) uint8_t buffer[BOUNCE_BYTES];
    enum rsm_status status = RSM_ST_OK;
    for (size_t done = 0; done < what->length && status == RSM_ST_OK;) {
        size_t length = what->length - done < sizeof buffer ? what->length - done : sizeof buffer;
        struct transfer part = {
            .offset = what->offset + done, .width = what->width, .length = length};
        if (what->src != NULL) {
            memcpy(buffer, (const uint8_t *)what->src + done, length);
            part.src = buffer;
        } else {
            part.dst = buffer;
        }
        uint32_t failures = rsm_conn_failures(mapping->space.inner);
        status = to_space(mapping, &part);
        /* The buffer is about to change, or to be looked at. */
        if (status == RSM_ST_OK && (mapping->conn.caps & RSM_CAP_ASYNC))
            status = without_peer(mapping, &part, settle(mapping, failures));
        if (status == RSM_ST_OK && what->dst != NULL)
            memcpy((uint8_t *)what->dst + done, buffer, length);
        done += length;
    }
    return status;
}

static enum rsm_status transfer(struct rsm_conn *conn, const struct transfer *what)
{
    if (what->length == 0)
        return RSM_ST_OK;
    const void *local = what->src != NULL ? what->src : what->dst;
    bool faults = mapping_view_overlaps(local, what->length);
    return faults ? bounced(mapping_of(conn), what) : to_space(mapping_of(conn), what);
}

enum rsm_status mapping_conn_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 size_t length)
{
    return transfer(conn, &(struct transfer){.offset = offset, .src = src, .length = length});
}

enum rsm_status mapping_conn_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    return transfer(conn, &(struct transfer){.offset = offset, .dst = dst, .length = length});
}

enum rsm_status mapping_conn_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                       unsigned width, size_t count)
{
    return transfer(
        conn,
        &(struct transfer){.offset = offset, .src = src, .width = width, .length = count * width});
}

enum rsm_status mapping_conn_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst,
                                       unsigned width, size_t count)
{
    return transfer(
        conn,
        &(struct transfer){.offset = offset, .dst = dst, .width = width, .length = count * width});
}

enum rsm_status mapping_conn_putv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                  unsigned count, unsigned *done)
{
    enum rsm_status status = RSM_ST_OK;
    for (*done = 0; *done < count && status == RSM_ST_OK; *done += status == RSM_ST_OK)
        status = mapping_conn_put(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return status;
}

enum rsm_status mapping_conn_getv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                  unsigned count, unsigned *done)
{
    enum rsm_status status = RSM_ST_OK;
    for (*done = 0; *done < count && status == RSM_ST_OK; *done += status == RSM_ST_OK)
        status = mapping_conn_get(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return status;
}
