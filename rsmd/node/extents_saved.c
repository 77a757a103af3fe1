/* SPDX-License-Identifier: BSD-3-Clause */
/* Extents in a snapshot, and the lists of pieces of them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/controllers.h"
#include "node/extents.h"
#include "node/saved.h"

/* ------------------------------------------------------------------ pieces */

void rsmd_save_pieces(struct rsmd_saved_pieces *saved, const struct rsmd_pieces *pieces)
{
    saved->count = pieces != NULL ? pieces->count : 0;
    for (uint32_t i = 0; i < saved->count; i++) {
        saved->piece[i].extent = pieces->piece[i].extent->id;
        saved->piece[i].offset = pieces->piece[i].offset;
        saved->piece[i].length = pieces->piece[i].length;
    }
}

struct rsmd_pieces *rsmd_restore_pieces(const struct rsmd_node *node,
                                        const struct rsmd_client *client,
                                        const struct rsmd_saved_pieces *saved)
{
    struct rsmd_pieces *pieces = saved->count > 0 ? rsmd_pieces_make(saved->count) : NULL;
    for (uint32_t i = 0; pieces != NULL && i < saved->count; i++) {
        uint32_t id = saved->piece[i].extent;
        uint64_t offset = saved->piece[i].offset, length = saved->piece[i].length;
        struct rsmd_extent *extent;
        HASH_FIND_INT(node->extents, &id, extent);
        if (extent == NULL || extent->client != client || length == 0 || offset > extent->length ||
            length > extent->length - offset) {
            rsmd_pieces_drop(pieces);
            return NULL;
        }
        rsmd_pieces_add(pieces, extent, offset, length);
    }
    return pieces;
}

/* ------------------------------------------------------------------ extents */

void rsmd_save_extent(struct rsmd_snapshot *snapshot, const struct rsmd_extent *extent)
{
    struct rsmd_saved_extent saved = {.id = extent->id,
                                      .fd = rsmd_snapshot_fd(snapshot, extent->memory->fd),
                                      .adopted = extent->adopted != NULL,
                                      .offered = extent->offered,
                                      .given_back = extent->given_back,
                                      .length = extent->length,
                                      .memory = extent->memory->length};
    memcpy(saved.controller, extent->controller->name, sizeof saved.controller);
    rsmd_saved_put(snapshot, RSMD_SAVED_EXTENT, &saved);
}

/* Charge for one as extents.c does. */
static void charge_extent(struct rsmd_extent *extent)
{
    struct rsmd_account *account = extent->client->account;
    extent->pinned = rsmd_extent_pinned(extent);
    rsmd_share_charge(account, RSMD_BYTES, extent->length);
    rsmd_share_charge(account, RSMD_PINNED, extent->pinned);
    rsmd_share_charge(account, RSMD_DESCRIPTORS, 1);
}

/* Pass the memory to the transports. They own the descriptor, or it is closed. */
static bool take_memory(struct rsmd_extent *extent, const struct rsmd_saved_extent *saved, int fd)
{
    const struct rsmd_controller *controller = extent->controller;
    const struct rsmd_controller *loopback = rsmd_controller_loopback(extent->node);
    if (fd < 0)
        return false;
    if (controller->ops->extent_take(controller->port, fd, saved->memory, &extent->memory) !=
        RSM_ST_OK) {
        close(fd);
        return false;
    }
    if (!saved->adopted || loopback->ops->extent_adopt(loopback->port, fd, extent->length,
                                                       &extent->adopted) == RSM_ST_OK)
        return true;
    controller->ops->extent_free(controller->port, extent->memory);
    return false;
}

bool rsmd_restore_extent(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                         struct rsmd_client *client)
{
    struct rsmd_saved_extent saved;
    if (!rsmd_saved_get(reader, RSMD_SAVED_EXTENT, &saved) || saved.length == 0 ||
        saved.length > saved.memory || rsmd_id_in_use(node, saved.id))
        return false;
    struct rsmd_controller *controller = rsmd_saved_controller_of(node, client, saved.controller);
    struct rsmd_extent *extent = controller != NULL ? calloc(1, sizeof *extent) : NULL;
    if (extent == NULL)
        return false;
    *extent = (struct rsmd_extent){.node = node,
                                   .id = saved.id,
                                   .client = client,
                                   .controller = controller,
                                   .length = saved.length,
                                   .offered = saved.offered != 0,
                                   .given_back = saved.given_back != 0};
    if (!take_memory(extent, &saved, rsmd_snapshot_take(reader, saved.fd))) {
        free(extent);
        return false;
    }
    HASH_ADD_INT(node->extents, id, extent);
    if (extent->hh.tbl == NULL) {
        controller->ops->extent_free(controller->port, extent->memory);
        free(extent);
        return false;
    }
    charge_extent(extent);
    DL_APPEND(client->extents, extent);
    return true;
}
