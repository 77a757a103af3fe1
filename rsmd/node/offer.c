/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/offer.h"

#include <string.h>

#include "node/controllers.h"
#include "base/log.h"
#include "base/status.h"

/* Whether the controller's port has made the extent. Another port of the same transport, on another
 * device or with another protection domain, does not know it. */
static bool made_by(const struct rsmd_extent *extent, const struct rsmd_controller *controller)
{
    return extent->controller == controller;
}

/* Whether the loopback controller's port knows the extent, or can adopt it. */
static bool suits_loopback(const struct rsmd_extent *extent, const struct rsmd_controller *loopback)
{
    return made_by(extent, loopback) ||
           (extent->controller->port->caps & RSM_NODE_EXTENTS_SHAREABLE) != 0;
}

/* Whether its importers are only on this host, where the loopback controller may serve them. */
static bool is_of_loopback_transport(const struct rsmd_controller *controller,
                                     const struct rsmd_controller *loopback)
{
    return controller->ops == loopback->ops;
}

bool rsmd_offer_suits(const struct rsmd_node *node, const struct rsmd_extent *extent,
                      const struct rsmd_controller *controller)
{
    const struct rsmd_controller *loopback = rsmd_controller_loopback(node);
    return made_by(extent, controller) ||
           (is_of_loopback_transport(controller, loopback) && suits_loopback(extent, loopback));
}

static bool all_made_by(const struct rsmd_pieces *pieces, const struct rsmd_controller *controller)
{
    for (uint32_t i = 0; i < pieces->count; i++)
        if (!made_by(pieces->piece[i].extent, controller))
            return false;
    return true;
}

static bool all_suit_loopback(const struct rsmd_pieces *pieces,
                              const struct rsmd_controller *loopback)
{
    for (uint32_t i = 0; i < pieces->count; i++)
        if (!suits_loopback(pieces->piece[i].extent, loopback))
            return false;
    return true;
}

/* The controller whose port is to make the offer. */
static struct rsmd_controller *carrier(const struct rsmd_node *node,
                                       const struct rsmd_export *exported, bool local)
{
    struct rsmd_controller *own = exported->controller;
    struct rsmd_controller *loopback = rsmd_controller_loopback(node);
    /* The segment's own port serves as well, and need not adopt the extents. */
    bool suits_own_port =
        is_of_loopback_transport(own, loopback) && all_made_by(exported->pieces, own);
    return local && !suits_own_port && all_suit_loopback(exported->pieces, loopback) ? loopback
                                                                                     : own;
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

/* Find the extent as this controller's port knows it, adopting it if necessary. */
static enum rsm_status find_memory(struct rsmd_node *node, struct rsmd_extent *extent,
                                   const struct rsmd_controller *by, struct rsm_extent **memory)
{
    enum rsm_status status = RSM_ST_OK;
    if (made_by(extent, by)) {
        *memory = extent->memory;
        return RSM_ST_OK;
    }
    if (by != rsmd_controller_loopback(node)) /* other ports adopt nothing */
        return RSM_ST_NO_ROUTE;
    if (extent->adopted == NULL)
        status = adopt(node, extent);
    *memory = extent->adopted;
    return status;
}

static enum rsm_status collect(struct rsmd_node *node, const struct rsmd_pieces *from,
                               const struct rsmd_controller *by, struct rsm_extent_piece *pieces)
{
    for (uint32_t i = 0; i < from->count; i++) {
        struct rsm_extent *memory;
        enum rsm_status status = find_memory(node, from->piece[i].extent, by, &memory);
        if (status != RSM_ST_OK)
            return status;
        pieces[i] = (struct rsm_extent_piece){
            .extent = memory, .offset = from->piece[i].offset, .length = from->piece[i].length};
    }
    return RSM_ST_OK;
}

enum rsm_status rsmd_offer_make(struct rsmd_node *node, struct rsmd_grant *grant,
                                const struct rsmd_asked *asked, struct rsm_offer *offer)
{
    struct rsm_extent_piece pieces[RSM_PROTO_PIECES_MAX];
    const struct rsmd_export *exported = grant->exported;
    struct rsm_importer who = grant->importer->who;
    grant->by = carrier(node, exported, who.local);
    enum rsm_status status = collect(node, exported->pieces, grant->by, pieces);
    if (status != RSM_ST_OK)
        return status;
    memset(offer, 0, sizeof *offer);
    offer->size = sizeof *offer;
    offer->node = node->id;
    offer->address = "";
    if (asked->length > 0 && strcmp(asked->transport, grant->by->ops->name) == 0) {
        who.request = asked->bytes;
        who.request_len = asked->length;
    }
    return grant->by->ops->offer(grant->by->port, pieces, exported->pieces->count,
                                 grant->importer->rights, &who, offer, &grant->made);
}

/* ------------------------------------------------------------------ what it takes */

/* A module compiled with a smaller base reports no price, and is charged none. */
static struct rsmd_offer_price price_of(const struct rsmd_controller *by,
                                        const struct rsm_node_offer *made)
{
    struct rsmd_offer_price price = {.descriptors = 0};
    if (by->ops->offer_size >= offsetof(struct rsm_node_offer, threads) + sizeof made->threads) {
        price.descriptors = made->descriptors;
        price.threads = made->threads;
    }
    return price;
}

bool rsmd_offer_charge(struct rsmd_grant *grant)
{
    const struct rsmd_offer_price price = price_of(grant->by, grant->made);
    struct rsmd_account *account = grant->importer->account;
    if (!rsmd_share_take(account, RSMD_DESCRIPTORS, price.descriptors))
        return false;
    if (!rsmd_share_take(account, RSMD_THREADS, price.threads)) {
        rsmd_share_give(account, RSMD_DESCRIPTORS, price.descriptors);
        return false;
    }
    grant->price = price;
    return true;
}

void rsmd_offer_charge_again(struct rsmd_grant *grant)
{
    grant->price = price_of(grant->by, grant->made);
    rsmd_share_charge(grant->importer->account, RSMD_DESCRIPTORS, grant->price.descriptors);
    rsmd_share_charge(grant->importer->account, RSMD_THREADS, grant->price.threads);
}

void rsmd_offer_refund(struct rsmd_account *account, const struct rsmd_offer_price *price)
{
    rsmd_share_give(account, RSMD_DESCRIPTORS, price->descriptors);
    rsmd_share_give(account, RSMD_THREADS, price->threads);
}
