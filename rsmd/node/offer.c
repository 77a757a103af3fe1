/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/offer.h"

#include <string.h>

#include "node/controllers.h"
#include "base/log.h"
#include "base/status.h"

/* Whether a port of this transport knows the extent, or can be made to. */
static bool is_known_to(const struct rsmd_extent *extent, const struct rsm_node_ops *ops,
                        const struct rsm_node_ops *loopback)
{
    return extent->controller->ops == ops ||
           (ops == loopback && (extent->controller->port->caps & RSM_NODE_EXTENTS_SHAREABLE) != 0);
}

bool rsmd_offer_suits(const struct rsmd_node *node, const struct rsmd_extent *extent,
                      const struct rsmd_controller *controller)
{
    return is_known_to(extent, controller->ops, rsmd_controller_loopback(node)->ops);
}

/* The controller whose port is to make the offer. */
static struct rsmd_controller *carrier(const struct rsmd_node *node,
                                       const struct rsmd_export *exported, bool local)
{
    struct rsmd_controller *loopback = rsmd_controller_loopback(node);
    if (!local || exported->controller->ops == loopback->ops)
        return exported->controller;
    for (uint32_t i = 0; i < exported->pieces->count; i++)
        if (!is_known_to(exported->pieces->piece[i].extent, loopback->ops, loopback->ops))
            return exported->controller;
    return loopback;
}

static enum rsm_status adopt(struct rsmd_node *node, struct rsmd_extent *extent)
{
    struct rsmd_controller *loopback = rsmd_controller_loopback(node);
    struct rsmd_account *account = extent->client->account;
    if (!rsmd_share_take(account, RSMD_DESCRIPTORS, 1))
        return RSM_ST_NO_RESOURCES;
    enum rsm_status status = loopback->ops->extent_adopt(loopback->port, extent->memory->fd,
                                                         extent->length, &extent->adopted);
    if (status == RSM_ST_OK)
        return RSM_ST_OK;
    rsmd_share_give(account, RSMD_DESCRIPTORS, 1);
    rsm_log_error("controller %s: its memory cannot be mapped on this host, although its "
                  "transport says so: %s",
                  extent->controller->name, rsmcore_status_text(status));
    return status;
}

/* The pieces as the carrier's port knows them. */
static enum rsm_status collect(struct rsmd_node *node, const struct rsmd_pieces *from,
                               const struct rsm_node_ops *ops, struct rsm_extent_piece *pieces)
{
    for (uint32_t i = 0; i < from->count; i++) {
        struct rsmd_extent *extent = from->piece[i].extent;
        bool own = extent->controller->ops == ops;
        enum rsm_status status = own || extent->adopted != NULL ? RSM_ST_OK : adopt(node, extent);
        if (status != RSM_ST_OK)
            return status;
        pieces[i] = (struct rsm_extent_piece){.extent = own ? extent->memory : extent->adopted,
                                              .offset = from->piece[i].offset,
                                              .length = from->piece[i].length};
    }
    return RSM_ST_OK;
}

enum rsm_status rsmd_offer_make(struct rsmd_node *node, const struct rsmd_export *exported,
                                const struct rsm_importer *importer, bool local, uint32_t rights,
                                struct rsm_offer *offer, struct rsmd_controller **by,
                                struct rsm_node_offer **made)
{
    struct rsm_extent_piece pieces[RSM_PROTO_PIECES_MAX];
    struct rsmd_controller *controller = carrier(node, exported, local);
    enum rsm_status status = collect(node, exported->pieces, controller->ops, pieces);
    if (status != RSM_ST_OK)
        return status;
    memset(offer, 0, sizeof *offer);
    *by = controller;
    return controller->ops->offer(controller->port, pieces, exported->pieces->count, rights,
                                  importer, offer, made);
}
