/* SPDX-License-Identifier: BSD-3-Clause */
/* Offers. One to an importer of the other host is a grant: where the segment lies in this pool, in
 * which session. It holds its extents until the importer's node says that the import has ended. One
 * to an importer of this host is a ticket for the memory itself. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "base/extent_memfd.h"
#include "base/extent_pieces.h"
#include "base/status.h"
#include "transport/ntb/node/window.h"

static struct ntb_extent *extent_of(struct rsm_extent *extent)
{
    return RSM_CONTAINER_OF(extent, struct ntb_extent, base);
}

static void close_descriptors(struct rsm_offer *offer)
{
    while (offer->fd_count > 0)
        close(offer->fds[--offer->fd_count]);
}

static int share(struct ntb_port *port, const struct ntb_extent *extent, bool writable,
                 uint64_t *offset)
{
    if (!extent->in_place)
        return port->ops->extent_share(port, &extent->memory, writable, offset);
    *offset = 0;
    return rsmcore_extent_memfd_share(extent->base.fd, writable);
}

static enum rsm_status fill_local(const struct ntb_window *window,
                                  const struct rsm_extent_piece *pieces, unsigned count,
                                  uint32_t rights, struct rsm_offer *offer)
{
    struct ntb_ticket ticket = {
        .flags = NTB_TICKET_LOCAL, .port = window->port_number, .count = rights == 0 ? 0 : count};
    struct ntb_port *port = window->port;
    for (unsigned i = 0; i < ticket.count; i++) {
        const struct ntb_extent *extent = extent_of(pieces[i].extent);
        uint64_t offset;
        int fd = share(port, extent, (rights & RSM_RIGHT_WRITE) != 0, &offset);
        if (fd < 0) {
            enum rsm_status status = rsmcore_status_from_errno(errno);
            close_descriptors(offer);
            return status;
        }
        offer->fds[offer->fd_count++] = fd;
        ticket.pieces[i] = (struct rsm_view_piece){.offset = offset + pieces[i].offset,
                                                   .length = pieces[i].length};
    }
    offer->blob_len = ntb_ticket_encode(&ticket, offer->blob);
    return RSM_ST_OK;
}

static enum rsm_status fill_remote(struct ntb_window *window, const struct rsm_extent_piece *pieces,
                                   unsigned count, uint32_t rights, struct ntb_offer *made,
                                   struct rsm_offer *offer)
{
    struct ntb_port_info info;
    window->port->ops->info(window->port, &info);
    if (info.epoch == 0 || info.peer_node != made->node)
        return RSM_ST_UNREACHABLE;
    if (rights != 0)
        ntb_posts_claim(window, made, &info);
    struct ntb_grant grant = {.generation = info.generation,
                              .sequence = info.sequence,
                              .peer_generation = info.peer_generation,
                              .peer_sequence = info.peer_sequence,
                              .connection = made->connection,
                              .count = rights == 0 ? 0 : count};
    for (unsigned i = 0; i < grant.count; i++) {
        const struct ntb_range *range = extent_of(pieces[i].extent)->range;
        grant.pieces[i] = (struct ntb_grant_piece){.offset = range->offset + pieces[i].offset,
                                                   .length = pieces[i].length};
    }
    offer->blob_len = ntb_grant_encode(&grant, offer->blob);
    if (offer->blob_len > 0)
        return RSM_ST_OK;
    ntb_posts_drop(window, made);
    return RSM_ST_NO_RESOURCES;
}

static void hold(struct ntb_window *window, struct ntb_offer *made,
                 const struct rsm_extent_piece *pieces, unsigned count)
{
    pthread_mutex_lock(&window->lock);
    made->count = count;
    for (unsigned i = 0; i < count; i++) {
        made->extents[i] = extent_of(pieces[i].extent);
        made->extents[i]->grants++;
    }
    pthread_mutex_unlock(&window->lock);
    DL_APPEND(window->offers, made);
}

enum rsm_status ntb_offer_make(struct rsm_node_port *port, const struct rsm_extent_piece *pieces,
                               unsigned count, uint32_t rights, const struct rsm_importer *importer,
                               struct rsm_offer *offer, struct rsm_node_offer **made)
{
    struct ntb_window *window = ntb_window_of(port);
    if ((rights & ~(RSM_RIGHT_READ | RSM_RIGHT_WRITE)) != 0 ||
        !rsmcore_extent_pieces_are_inside(pieces, count, count, window->limits.granule))
        return RSM_ST_INVALID;
    if (count > (importer->local ? (unsigned)RSM_OFFER_MAX_FDS : (unsigned)NTB_PIECES_MAX))
        return RSM_ST_NO_RESOURCES;
    struct ntb_offer *fresh = calloc(1, sizeof *fresh + count * sizeof fresh->extents[0]);
    if (fresh == NULL)
        return RSM_ST_NO_MEMORY;
    fresh->base.port = port;
    fresh->node = importer->node;
    fresh->uid = importer->uid;
    fresh->local = importer->local;
    fresh->connection = NTB_NO_CONNECTION;
    offer->fd_count = 0;
    enum rsm_status status = importer->local
                                 ? fill_local(window, pieces, count, rights, offer)
                                 : fill_remote(window, pieces, count, rights, fresh, offer);
    if (status != RSM_ST_OK) {
        free(fresh);
        return status;
    }
    if (importer->local)
        DL_APPEND(window->offers, fresh);
    else
        hold(window, fresh, pieces, count);
    *made = &fresh->base;
    return RSM_ST_OK;
}

void ntb_offer_revoke(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    /* A mapping of a process of this host cannot be revoked, and the daemons notify the other host:
     * the exporter leaves the extent. */
    struct ntb_offer *offer = RSM_CONTAINER_OF(made, struct ntb_offer, base);
    offer->revoked = true;
    if (offer->local)
        ntb_offer_released(port, made);
}

static void release(struct ntb_window *window, struct ntb_offer *offer)
{
    pthread_mutex_lock(&window->lock);
    for (uint32_t i = 0; i < offer->count; i++) {
        offer->extents[i]->grants--;
        ntb_extent_changed(window, offer->extents[i]);
    }
    pthread_mutex_unlock(&window->lock);
    ntb_posts_drop(window, offer);
    DL_DELETE(window->offers, offer);
    free(offer);
}

void ntb_offer_released(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    release(ntb_window_of(port), RSM_CONTAINER_OF(made, struct ntb_offer, base));
    ntb_window_pump(ntb_window_of(port));
}

/* No importer of the other host is left that a daemon before this one knew of. Lock held. */
static void disown_inherited(struct ntb_window *window)
{
    struct ntb_extent *extent;
    DL_FOREACH(window->extents, extent)
    {
        if (!extent->inherited)
            continue;
        extent->inherited = false;
        ntb_extent_changed(window, extent);
    }
}

bool ntb_offers_released(struct rsm_node_port *port, uint32_t node)
{
    struct ntb_window *window = ntb_window_of(port);
    struct ntb_port_info info;
    struct ntb_offer *offer, *next;
    /* Without a driver that cuts mappings, "cut" says less than "released". */
    if (!window->limits.cuts)
        return false;
    DL_FOREACH_SAFE(window->offers, offer, next)
    {
        if (offer->node == node && offer->revoked && !offer->local)
            release(window, offer);
    }
    window->port->ops->info(window->port, &info);
    pthread_mutex_lock(&window->lock);
    if (info.peer_node == node)
        disown_inherited(window);
    pthread_mutex_unlock(&window->lock);
    ntb_window_pump(window);
    return true;
}
