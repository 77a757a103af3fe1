/* SPDX-License-Identifier: BSD-3-Clause */
/* Imports of processes of this host: a grant of the other host becomes a ticket. */
#include <stdlib.h>
#include <unistd.h>

#include "transport/ntb/node/window.h"

static struct ntb_import *import_of(struct rsm_node_import *import)
{
    return RSM_CONTAINER_OF(import, struct ntb_import, base);
}

/* Whether the grant was made in the session that there is now. */
static bool is_of_this_session(const struct ntb_port_info *info, const struct ntb_grant *grant)
{
    return info->epoch != 0 && grant->generation == info->peer_generation &&
           grant->sequence == info->peer_sequence && grant->peer_generation == info->generation &&
           grant->peer_sequence == info->sequence;
}

static void end_pieces(const struct ntb_window *window, const struct ntb_import *import)
{
    for (uint32_t i = 0; i < import->count; i++) {
        window->port->ops->import_revoke(window->port, import->ids[i]);
        window->port->ops->import_close(window->port, import->ids[i]);
    }
}

static void drop(const struct ntb_window *window, struct ntb_import *import,
                 struct rsm_offer *local)
{
    while (local->fd_count > 0)
        close(local->fds[--local->fd_count]);
    end_pieces(window, import);
    free(import);
}

/* Append the descriptors of the next piece. Those of the first also serve for status, canary and
 * posts; @p post_fds follow the last piece. */
static enum rsm_status add_piece(const struct ntb_window *window, struct ntb_import *import,
                                 const struct ntb_grant *grant, uint32_t epoch, bool writable,
                                 struct rsm_offer *local, struct ntb_ticket *ticket,
                                 int post_fds[NTB_POST_FDS_MAX])
{
    const struct ntb_grant_piece *piece = &grant->pieces[import->count];
    bool first = local->fd_count == 0;
    /* Descriptors for posts have to fit, too. */
    bool posts = first && grant->count <= NTB_PIECES_MAX - NTB_POST_FDS_MAX;
    struct ntb_port_import made;
    enum rsm_status status = window->port->ops->import_make(
        window->port, piece, epoch, writable, posts ? grant->connection : NTB_NO_CONNECTION, &made);
    if (status != RSM_ST_OK)
        return status;
    import->ids[import->count++] = made.id;
    if (first) {
        ticket->flags |= made.posts ? NTB_TICKET_POSTS : 0;
        ticket->post_word = made.post_word;
        while (ticket->post_fds < made.post_fd_count) {
            post_fds[ticket->post_fds] = made.post_fds[ticket->post_fds];
            ticket->post_fds++;
        }
        local->fds[local->fd_count++] = made.status;
        local->fds[local->fd_count++] = made.canary;
        ticket->status_offset = made.status_offset;
        ticket->canary_offset = made.canary_offset;
    } else {
        close(made.status);
        close(made.canary);
    }
    local->fds[local->fd_count++] = made.data;
    ticket->pieces[ticket->count++] =
        (struct rsm_view_piece){.offset = made.data_offset, .length = piece->length};
    return RSM_ST_OK;
}

static enum rsm_status accept_grant(const struct ntb_window *window, const struct ntb_grant *grant,
                                    uint32_t epoch, uint32_t rights, struct rsm_offer *local,
                                    struct ntb_import **made)
{
    struct ntb_ticket ticket = {.port = window->port_number};
    int post_fds[NTB_POST_FDS_MAX];
    struct ntb_import *import = calloc(1, sizeof *import + grant->count * sizeof import->ids[0]);
    if (import == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = RSM_ST_OK;
    while (import->count < grant->count && status == RSM_ST_OK)
        status = add_piece(window, import, grant, epoch, (rights & RSM_RIGHT_WRITE) != 0, local,
                           &ticket, post_fds);
    for (uint32_t i = 0; i < ticket.post_fds; i++)
        local->fds[local->fd_count++] = post_fds[i];
    if (status != RSM_ST_OK) {
        drop(window, import, local);
        return status;
    }
    local->blob_len = ntb_ticket_encode(&ticket, local->blob);
    *made = import;
    return RSM_ST_OK;
}

static enum rsm_status ntb_accept(struct rsm_node_port *port, uint32_t exporter, uint64_t size,
                                  uint32_t rights, const struct rsm_importer *importer,
                                  const struct rsm_offer *offer, struct rsm_offer *local,
                                  struct rsm_node_import **made)
{
    struct ntb_window *window = ntb_window_of(port);
    struct ntb_port_info info;
    struct ntb_grant grant;
    struct ntb_import *import;
    (void)importer;
    local->fd_count = local->blob_len = 0;
    window->port->ops->info(window->port, &info);
    if (info.epoch == 0 || info.peer_node != exporter)
        return RSM_ST_UNREACHABLE;
    if (!ntb_grant_decode(offer->blob, offer->blob_len, size, info.window_size, &grant) ||
        (grant.count == 0) != (rights == 0))
        return RSM_ST_PROTOCOL;
    if (!is_of_this_session(&info, &grant))
        return RSM_ST_UNREACHABLE;
    enum rsm_status status = accept_grant(window, &grant, info.epoch, rights, local, &import);
    if (status != RSM_ST_OK)
        return status;
    import->base.port = port;
    *made = &import->base;
    return RSM_ST_OK;
}

static bool ntb_import_revoke(struct rsm_node_port *port, struct rsm_node_import *made)
{
    const struct ntb_window *window = ntb_window_of(port);
    const struct ntb_import *import = import_of(made);
    for (uint32_t i = 0; i < import->count; i++)
        window->port->ops->import_revoke(window->port, import->ids[i]);
    return window->limits.cuts || import->count == 0;
}

static void ntb_import_close(struct rsm_node_port *port, struct rsm_node_import *made)
{
    end_pieces(ntb_window_of(port), import_of(made));
    free(import_of(made));
}

const struct rsm_node_import_ops ntb_node_import_ops = {
    .size = sizeof(struct rsm_node_import_ops),
    .accept = ntb_accept,
    .revoke = ntb_import_revoke,
    .close = ntb_import_close,
    .released = ntb_offer_released,
    .all_released = ntb_offers_released,
};
