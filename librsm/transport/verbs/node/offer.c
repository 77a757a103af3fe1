/* SPDX-License-Identifier: BSD-3-Clause */
/* Offers: each is opened by a token, until it is revoked. It uses no resource of the device before
 * its importer connects, so an unused offer costs only its memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/extent_pieces.h"
#include "transport/verbs/node/node.h"

static bool fill_blob(const struct verbs_node_port *port, const struct verbs_node_offer *made,
                      struct rsm_offer *offer)
{
    struct verbs_offer content = {.address = port->address, .count = made->count};
    memcpy(content.token, made->token, sizeof content.token);
    for (uint32_t i = 0; i < made->count; i++)
        content.length[i] = made->grant[i].piece.length;
    offer->fd_count = 0;
    offer->blob_len = (uint32_t)verbs_offer_encode(&content, offer->blob, sizeof offer->blob);
    return offer->blob_len > 0;
}

enum rsm_status verbs_offer_make(struct rsm_node_port *base, const struct rsm_extent_piece *pieces,
                                 unsigned count, uint32_t rights,
                                 const struct rsm_importer *importer, struct rsm_offer *offer,
                                 struct rsm_node_offer **made)
{
    struct verbs_node_port *port = verbs_node_port_of(base);
    if ((rights & ~(RSM_RIGHT_READ | RSM_RIGHT_WRITE)) != 0 ||
        !rsmcore_extent_pieces_are_inside(pieces, count, VERBS_PIECES_MAX, port->page))
        return RSM_ST_INVALID;
    struct verbs_node_offer *fresh = calloc(1, sizeof *fresh + count * sizeof fresh->grant[0]);
    if (fresh == NULL)
        return RSM_ST_NO_MEMORY;
    fresh->base.port = base;
    fresh->rights = rights;
    fresh->node = importer->node;
    fresh->count = rights == 0 ? 0 : count;
    for (uint32_t i = 0; i < fresh->count; i++)
        fresh->grant[i].piece = pieces[i];
    bool ready = getrandom(fresh->token, sizeof fresh->token, GRND_NONBLOCK) ==
                     (ssize_t)sizeof fresh->token &&
                 fill_blob(port, fresh, offer);
    if (ready)
        HASH_ADD(hh, port->offers, token, sizeof fresh->token, fresh);
    if (!ready || fresh->hh.tbl == NULL) {
        free(fresh);
        return RSM_ST_NO_RESOURCES;
    }
    *made = &fresh->base;
    return RSM_ST_OK;
}

struct verbs_node_offer *verbs_offer_find(const struct verbs_node_port *port,
                                          const uint8_t token[VERBS_TOKEN_BYTES])
{
    struct verbs_node_offer *found;
    HASH_FIND(hh, port->offers, token, VERBS_TOKEN_BYTES, found);
    return found;
}

void verbs_offer_lose(struct verbs_node_port *port, struct verbs_node_offer *offer)
{
    verbs_grant_end(port, offer);
    if (offer->state != VERBS_LOST)
        port->unreported++;
    offer->state = VERBS_LOST;
}

void verbs_offer_revoke(struct verbs_node_port *port, struct verbs_node_offer *made)
{
    verbs_grant_end(port, made);
    if (made->state == VERBS_LOST && !made->loss_reported)
        port->unreported--;
    HASH_DELETE(hh, port->offers, made);
    if (made->preparing)
        made->revoked = true;
    else
        free(made);
}
