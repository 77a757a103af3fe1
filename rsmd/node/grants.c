/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/grants.h"

#include <stdlib.h>

#include "node/counters.h"
#include "node/extents.h"
#include "node/offer.h"
#include "node/records.h"
#include "node/revokes.h"
#include "node/segment_ids.h"

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
    if (exported->published)
        rsmd_segment_about(&exported->name, item);
}
