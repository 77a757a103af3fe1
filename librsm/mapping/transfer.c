/* SPDX-License-Identifier: BSD-3-Clause */
/* put and get of a connection that is made mappable, in all their forms. */
#include <string.h>

#include "mapping/softmap_internal.h"

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

/* A connection that has gone leaves memory that nobody else sees, for transfers as for loads and
 * stores; that nothing arrives any more is the barrier's to tell. */
static enum rsm_status without_peer(struct softmap *softmap, const struct transfer *what,
                                    enum rsm_status status)
{
    struct rsm_conn *inner = softmap->space.inner;
    sigset_t before;
    if (status == RSM_ST_OK || !softmap_has_views(softmap) ||
        inner->ops->health(inner) == RSM_ST_OK)
        return status;
    softmap_enter(softmap, &before);
    softmap_fail(&softmap->space, status);
    softmap_leave(softmap, &before);
    uint8_t *here = softmap->space.copy + what->offset;
    if (what->src != NULL)
        memcpy(here, what->src, what->length);
    else if (what->dst != NULL)
        memcpy(what->dst, here, what->length);
    return RSM_ST_OK;
}

/* The local memory is the program's, and the transport touches it while no lock is held and no
 * signal is blocked: a fault there is served like any other. */
static enum rsm_status to_space(struct softmap *softmap, const struct transfer *what)
{
    struct softmap_space *space = &softmap->space;
    sigset_t before;
    if (!softmap_has_views(softmap))
        return to_inner(space->inner, what);
    softmap_enter(softmap, &before);
    if (what->src != NULL)
        softmap_before_put(space, what->offset, what->length);
    else
        softmap_before_get(space);
    softmap_leave(softmap, &before);
    enum rsm_status status = to_inner(space->inner, what);
    if (what->src != NULL) {
        softmap_enter(softmap, &before);
        softmap_after_put(space, what->offset, what->length);
        softmap_leave(softmap, &before);
        softmap_reread_all(softmap, softmap_page_of(space, what->offset),
                           softmap_page_of(space, what->offset + what->length - 1) + 1);
    }
    return without_peer(softmap, what, status);
}

/* An error may be that of another transfer, so the next barrier is told of it, too. */
static enum rsm_status settle(struct softmap *softmap)
{
    sigset_t before;
    if (softmap_is_foreign(softmap))
        return softmap->space.inner->ops->complete(softmap->space.inner);
    softmap_enter(softmap, &before);
    enum rsm_status status = softmap_settle(&softmap->space);
    softmap_leave(softmap, &before);
    return status;
}

/* From or to memory of a view: no transport is handed that, least of all to an adapter, which would
 * not fault but read what is not there. */
static enum rsm_status bounced(struct softmap *softmap, const struct transfer *what)
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
        status = to_space(softmap, &part);
        /* The buffer is about to change, or to be looked at. */
        if (status == RSM_ST_OK && (softmap->conn.caps & RSM_CAP_ASYNC))
            status = without_peer(softmap, &part, settle(softmap));
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
    bool faults = softmap_view_overlaps(local, what->length);
    return faults ? bounced(softmap_of(conn), what) : to_space(softmap_of(conn), what);
}

enum rsm_status softmap_conn_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 size_t length)
{
    return transfer(conn, &(struct transfer){.offset = offset, .src = src, .length = length});
}

enum rsm_status softmap_conn_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    return transfer(conn, &(struct transfer){.offset = offset, .dst = dst, .length = length});
}

enum rsm_status softmap_conn_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                       unsigned width, size_t count)
{
    return transfer(
        conn,
        &(struct transfer){.offset = offset, .src = src, .width = width, .length = count * width});
}

enum rsm_status softmap_conn_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst,
                                       unsigned width, size_t count)
{
    return transfer(
        conn,
        &(struct transfer){.offset = offset, .dst = dst, .width = width, .length = count * width});
}

enum rsm_status softmap_conn_putv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                  unsigned count, unsigned *done)
{
    enum rsm_status status = RSM_ST_OK;
    for (*done = 0; *done < count && status == RSM_ST_OK; *done += status == RSM_ST_OK)
        status = softmap_conn_put(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return status;
}

enum rsm_status softmap_conn_getv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                  unsigned count, unsigned *done)
{
    enum rsm_status status = RSM_ST_OK;
    for (*done = 0; *done < count && status == RSM_ST_OK; *done += status == RSM_ST_OK)
        status = softmap_conn_get(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return status;
}
