/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/grants.h"

#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#include "node/counters.h"
#include "node/extents.h"
#include "node/records.h"
#include "node/revokes.h"
#include "node/segment_ids.h"
#include "node/controllers.h"
#include "base/log.h"
#include "base/status.h"

/* ------------------------------------------------------------------ guests */

/* A user's connections to an export of another user. */
struct rsmd_guest {
    struct rsmd_guest_key {
        uint32_t export_id;
        uint32_t uid;
    } key;
    uint32_t connections;
    UT_hash_handle hh;
};

/* Find the entry of a user's connections to an export. NULL: it has none, or owns the export. */
static struct rsmd_guest *find_guest(const struct rsmd_node *node,
                                     const struct rsmd_export *exported, uid_t uid)
{
    const struct rsmd_guest_key key = {.export_id = exported->id, .uid = uid};
    struct rsmd_guest *guest;
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): both members are set */
    HASH_FIND(hh, node->guests, &key, sizeof key, guest);
    return guest;
}

bool rsmd_export_has_guest(const struct rsmd_node *node, const struct rsmd_export *exported,
                           uid_t uid)
{
    return find_guest(node, exported, uid) != NULL;
}

/* False: no memory. */
static bool add_guest(struct rsmd_node *node, const struct rsmd_export *exported, uid_t uid)
{
    if (uid == exported->access.uid)
        return true;
    struct rsmd_guest *guest = find_guest(node, exported, uid);
    if (guest == NULL) {
        guest = calloc(1, sizeof *guest);
        if (guest == NULL)
            return false;
        guest->key = (struct rsmd_guest_key){.export_id = exported->id, .uid = uid};
        HASH_ADD(hh, node->guests, key, sizeof guest->key, guest);
        if (guest->hh.tbl == NULL) {
            free(guest);
            return false;
        }
    }
    guest->connections++;
    return true;
}

static void remove_guest(struct rsmd_node *node, const struct rsmd_export *exported, uid_t uid)
{
    struct rsmd_guest *guest = find_guest(node, exported, uid);
    if (guest == NULL || --guest->connections > 0)
        return;
    HASH_DEL(node->guests, guest);
    free(guest);
}

/* ------------------------------------------------------------------ the export's lists */

static void add_to_export(struct rsmd_export *exported, struct rsmd_grant *grant)
{
    if (grant->importer->attached) {
        DL_APPEND(exported->attached, grant);
        exported->attached_count++;
    } else {
        DL_APPEND(exported->grants, grant);
        exported->grant_count++;
    }
    grant->notices = exported->notices;
}

static void remove_from_export(struct rsmd_export *exported, struct rsmd_grant *grant)
{
    if (exported->report_next == grant)
        exported->report_next = grant->next;
    exported->page.grant = NULL; /* the indices of others have changed */
    if (grant->importer->attached) {
        DL_DELETE(exported->attached, grant);
        exported->attached_count--;
    } else {
        DL_DELETE(exported->grants, grant);
        exported->grant_count--;
    }
}

/* ------------------------------------------------------------------ joining */

struct rsmd_grant *rsmd_grant_offered(const struct rsmd_node *node,
                                      const struct rsm_node_offer *made)
{
    struct rsmd_grant *grant;
    HASH_FIND(hh_made, node->offers, &made, sizeof(void *), grant);
    return grant;
}

/* False: no memory, and it is in no table. */
static bool enter_tables(struct rsmd_node *node, struct rsmd_grant *grant)
{
    uid_t uid = grant->importer->who.uid;
    if (!add_guest(node, grant->exported, uid))
        return false;
    if (grant->by->event_fd < 0)
        return true;
    HASH_ADD(hh_made, node->offers, made, sizeof(void *), grant);
    if (grant->hh_made.tbl != NULL)
        return true;
    remove_guest(node, grant->exported, uid);
    return false;
}

/* Add it, and make posters fetch the list of receivers again, whose order has changed. */
static void add(struct rsmd_node *node, struct rsmd_grant *grant)
{
    grant->importer->grant = grant;
    add_to_export(grant->exported, grant);
    rsmd_generation_table_advance(node->generation_table, grant->exported->epoch_slot);
}

enum rsm_status rsmd_grant_join(struct rsmd_node *node, struct rsmd_grant *grant)
{
    if (!rsmd_offer_charge(grant))
        return RSM_ST_NO_RESOURCES;
    if (!enter_tables(node, grant)) {
        rsmd_offer_refund(grant->importer->account, &grant->price);
        grant->price = (struct rsmd_offer_price){.descriptors = 0};
        return RSM_ST_NO_MEMORY;
    }
    grant->pieces = rsmd_pieces_hold(grant->exported->pieces);
    add(node, grant);
    node->connects++;
    const struct rsm_record record = rsmd_record_of(grant->importer, RSM_RECORD_CONNECTED);
    rsmd_record_to_exporter(node, grant->exported, &record);
    return RSM_ST_OK;
}

bool rsmd_grant_rejoin(struct rsmd_node *node, struct rsmd_grant *grant)
{
    if (!enter_tables(node, grant))
        return false;
    rsmd_offer_charge_again(grant);
    add(node, grant);
    return true;
}

void rsmd_grant_signalled(struct rsmd_node *node, const struct rsmd_grant *grant, uint32_t count,
                          bool coalesced)
{
    struct rsmd_export *exported = grant->exported;
    rsmd_events_deliver(node, exported->client, exported->client->account, &exported->events, count,
                        coalesced);
}

/* ------------------------------------------------------------------ revoking */

/* Deliver the signals that the importer sent before its end and that the fabric has not reported
 * yet. */
static void collect_signals(struct rsmd_node *node, const struct rsmd_grant *grant)
{
    struct rsm_signals posted;
    grant->by->ops->signals->collect(grant->by->port, grant->made, &posted);
    if (posted.coalesced)
        rsmd_grant_signalled(node, grant, 1, true);
    if (posted.count > 0)
        rsmd_grant_signalled(node, grant, posted.count, false);
}

/* The generation changes first: an importer that sees the fabric refuse must be able to see the
 * cause. */
void rsmd_grant_revoke(struct rsmd_node *node, struct rsmd_grant *grant,
                       enum rsm_record_event event)
{
    struct rsmd_export *exported = grant->exported;
    struct rsmd_importer *importer = grant->importer;
    const struct rsm_record record = rsmd_record_of(importer, event);
    if (!importer->who.local)
        collect_signals(node, grant);
    rsmd_generation_table_advance(node->generation_table, importer->slot);
    rsmd_generation_table_advance(node->generation_table, exported->epoch_slot);
    if (grant->hh_made.tbl != NULL)
        HASH_DELETE(hh_made, node->offers, grant);
    remove_from_export(exported, grant);
    remove_guest(node, exported, importer->who.uid);
    importer->grant = NULL;
    rsmd_revoke(node, grant, importer->account, &record);
    free(grant);
}

void rsmd_grant_about(const struct rsmd_grant *grant, struct rsm_inspect_item *item)
{
    const struct rsmd_export *exported = grant->exported;
    item->export_id = exported->id;
    item->length = exported->length;
    snprintf(item->transport, sizeof item->transport, "%s", grant->made->port->ops->name);
    if (exported->published)
        rsmd_segment_about(&exported->name, item);
}

/* ------------------------------------------------------------------ offers */

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
    enum rsm_status status = loopback->ops->extent_adopt(loopback->port, extent->memory->fd,
                                                         extent->length, &extent->adopted);
    if (status != RSM_ST_OK)
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
