/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/registry.h"

#include <stdlib.h>

#include "node/events.h"
#include "node/interrupts.h"
#include "node/offer.h"
#include "node/records.h"
#include "node/unfinished.h"
#include "node/remote/release.h"
#include "node/remote/remote.h"
#include "node/remote/relay.h"

bool rsmd_id_in_use(const struct rsmd_node *node, uint32_t id)
{
    const struct rsmd_extent *extent;
    const struct rsmd_export *exported;
    const struct rsmd_import *import;
    if (id == 0)
        return true;
    HASH_FIND_INT(node->extents, &id, extent);
    HASH_FIND_INT(node->exports, &id, exported);
    HASH_FIND_INT(node->imports, &id, import);
    return extent != NULL || exported != NULL || import != NULL || rsmd_interrupt_has_id(node, id);
}

/* One numbering for all kinds, so that an id never means two things. */
uint32_t rsmd_new_id(struct rsmd_node *node)
{
    do
        node->last_id++;
    while (rsmd_id_in_use(node, node->last_id));
    return node->last_id;
}

/* ------------------------------------------------------------------ exports */

struct rsmd_export *rsmd_client_export(const struct rsmd_node *node,
                                       const struct rsmd_client *client, uint32_t id)
{
    struct rsmd_export *exported;
    HASH_FIND_INT(node->exports, &id, exported);
    return exported != NULL && exported->client == client && !exported->ended ? exported : NULL;
}

enum rsm_status rsmd_export_make(struct rsmd_node *node, struct rsmd_client *client,
                                 struct rsmd_controller *controller, struct rsmd_export **made)
{
    if (!rsmd_share_take(client->account, RSMD_SEGMENTS, 1))
        return RSM_ST_NO_RESOURCES;
    struct rsmd_export *exported = calloc(1, sizeof *exported);
    if (exported == NULL) {
        rsmd_share_give(client->account, RSMD_SEGMENTS, 1);
        return RSM_ST_NO_MEMORY;
    }
    exported->epoch_slot = rsmd_generation_table_take(node->generation_table);
    if (exported->epoch_slot == 0) {
        rsmd_share_give(client->account, RSMD_SEGMENTS, 1);
        free(exported);
        return RSM_ST_NO_RESOURCES;
    }
    exported->id = rsmd_new_id(node);
    exported->client = client;
    exported->controller = controller;
    rsmd_events_init(&exported->events);
    HASH_ADD_INT(node->exports, id, exported);
    if (exported->hh.tbl == NULL) {
        rsmd_generation_table_release(node->generation_table, exported->epoch_slot);
        rsmd_share_give(client->account, RSMD_SEGMENTS, 1);
        free(exported);
        return RSM_ST_NO_MEMORY;
    }
    DL_APPEND(client->exports, exported);
    rsmd_slotmap_set(node->exports_by_slot, exported->epoch_slot, exported);
    *made = exported;
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ guests */

/* The entry of a user's connections to an export; NULL: it has none, or the export is his own. */
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
static bool guest_comes(struct rsmd_node *node, const struct rsmd_export *exported, uid_t uid)
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

static void guest_goes(struct rsmd_node *node, const struct rsmd_export *exported, uid_t uid)
{
    struct rsmd_guest *guest = find_guest(node, exported, uid);
    if (guest == NULL || --guest->connections > 0)
        return;
    HASH_DEL(node->guests, guest);
    free(guest);
}

/* ------------------------------------------------------------------ parting */

static uint32_t *count_of(struct rsmd_export *exported, const struct rsmd_import *import)
{
    return import->attached ? &exported->attached_count : &exported->import_count;
}

static struct rsmd_import **list_of(struct rsmd_export *exported, const struct rsmd_import *import)
{
    return import->attached ? &exported->attached : &exported->imports;
}

static void add_to_export(struct rsmd_export *exported, struct rsmd_import *import)
{
    DL_APPEND2(*list_of(exported, import), import, export_prev, export_next);
    (*count_of(exported, import))++;
    import->notices = exported->notices;
}

static void remove_from_export(struct rsmd_export *exported, struct rsmd_import *import)
{
    if (exported->tell_next == import)
        exported->tell_next = import->export_next;
    exported->page.import = NULL; /* others have another index now */
    DL_DELETE2(*list_of(exported, import), import, export_prev, export_next);
    (*count_of(exported, import))--;
}

bool rsmd_export_is_used(const struct rsmd_export *exported)
{
    return exported->imports != NULL || exported->attached != NULL;
}

/* What the importer posted before its end has been posted, although the fabric has not said so yet. */
static void collect_signals(struct rsmd_node *node, struct rsmd_import *import)
{
    struct rsm_signals posted;
    import->by->ops->signals->collect(import->by->port, import->made, &posted);
    if (posted.coalesced)
        rsmd_import_signalled(node, import, 1, true);
    if (posted.count > 0)
        rsmd_import_signalled(node, import, posted.count, false);
}

/* Part an import from its export. The generation moves first: whoever sees the fabric refuse must
 * be able to see why. */
static void sever(struct rsmd_node *node, struct rsmd_import *import, enum rsm_record_event event)
{
    struct rsmd_export *exported = import->exported;
    if (import->remote != NULL)
        collect_signals(node, import);
    rsmd_record_to_exporter(node, exported, event, import);
    rsmd_generation_table_advance(node->generation_table, import->slot);
    rsmd_generation_table_advance(node->generation_table, exported->epoch_slot);
    if (import->hh_made.tbl != NULL)
        HASH_DELETE(hh_made, node->offers, import);
    import->by->ops->revoke(import->by->port, import->made);
    rsmd_offer_refund(import->account, &import->price);
    rsmd_release_await(import);
    rsmd_pieces_drop(import->pieces);
    remove_from_export(exported, import);
    guest_goes(node, exported, import->importer.uid);
    import->exported = NULL;
    import->made = NULL;
    import->pieces = NULL;
}

/* Cut a connection. An importer here keeps its handle; the one that stands for an importer on
 * another host has done its duty when that host is told. */
static void cut(struct rsmd_node *node, struct rsmd_import *import, enum rsm_record_event event)
{
    bool remote = import->remote != NULL;
    rsmd_relay_leave_fabric(import);
    sever(node, import, event);
    if (!remote) {
        rsmd_record_to_importer(node, import, RSM_RECORD_LOST);
        return;
    }
    rsmd_relay_flush(import);
    rsmd_remote_report_abort(node, import);
    rsmd_import_free(node, import);
}

bool rsmd_export_name(struct rsmd_node *node, struct rsmd_export *exported,
                      const struct rsmd_segment_name *name)
{
    exported->name = *name;
    HASH_ADD(hh_segment, node->published, name, sizeof exported->name, exported);
    return exported->hh_segment.tbl != NULL;
}

static void forget_name(struct rsmd_node *node, struct rsmd_export *exported)
{
    HASH_DELETE(hh_segment, node->published, exported);
    exported->hh_segment.tbl = NULL;
}

static void forget_claim(struct rsmd_node *node, struct rsmd_export *exported)
{
    if (exported->claimed)
        forget_name(node, exported);
    exported->claimed = false;
}

void rsmd_export_settle(struct rsmd_node *node, struct rsmd_client *client,
                        struct rsmd_export *exported)
{
    if (!exported->ended)
        return;
    if (exported->attached_count == 0 && exported->hh_segment.tbl != NULL) {
        rsmd_export_withdraw(node, exported);
        forget_claim(node, exported);
        rsmd_unfinished_tell(node, client, exported);
    }
    if (!rsmd_export_is_used(exported))
        rsmd_export_free(node, exported);
}

void rsmd_import_abort(struct rsmd_node *node, struct rsmd_import *import)
{
    struct rsmd_export *exported = import->exported;
    struct rsmd_client *client = import->client;
    if (exported == NULL)
        return;
    cut(node, import, RSM_RECORD_LOST);
    rsmd_export_settle(node, client, exported);
}

void rsmd_export_cut_first(struct rsmd_node *node, struct rsmd_export *exported)
{
    cut(node, exported->imports != NULL ? exported->imports : exported->attached, RSM_RECORD_CUT);
}

void rsmd_export_unname(struct rsmd_node *node, struct rsmd_export *exported)
{
    rsmd_export_withdraw(node, exported);
    forget_claim(node, exported);
}

void rsmd_export_destroy(struct rsmd_node *node, struct rsmd_export *exported)
{
    rsmd_export_unname(node, exported);
    rsmd_records_end(exported->client->account, &exported->records);
    exported->ended = true;
}

void rsmd_export_withdraw(struct rsmd_node *node, struct rsmd_export *exported)
{
    if (!exported->published)
        return;
    exported->published = false;
    if (!exported->claimed)
        forget_name(node, exported);
    rsmd_pieces_drop(exported->pieces);
    exported->pieces = NULL;
}

void rsmd_export_defer(struct rsmd_node *node, struct rsmd_export *exported)
{
    bool named = exported->hh_segment.tbl != NULL;
    rsmd_records_end(exported->client->account, &exported->records);
    exported->ended = true;
    if (!named) /* unpublished before; those who are still connected are told now */
        rsmd_unfinished_tell(node, exported->client, exported);
    rsmd_export_settle(node, exported->client, exported);
}

void rsmd_export_free(struct rsmd_node *node, struct rsmd_export *exported)
{
    while (rsmd_export_is_used(exported))
        rsmd_export_cut_first(node, exported);
    rsmd_export_unname(node, exported);
    rsmd_records_end(exported->client->account, &exported->records);
    rsmd_events_close(exported->client->account, &exported->events);
    rsmd_slotmap_set(node->exports_by_slot, exported->epoch_slot, NULL);
    rsmd_generation_table_release(node->generation_table, exported->epoch_slot);
    HASH_DEL(node->exports, exported);
    DL_DELETE(exported->client->exports, exported);
    rsmd_share_give(exported->client->account, RSMD_SEGMENTS, 1);
    free(exported);
}

/* ------------------------------------------------------------------ imports */

struct rsmd_import *rsmd_import_offered(const struct rsmd_node *node,
                                        const struct rsm_node_offer *made)
{
    struct rsmd_import *import;
    HASH_FIND(hh_made, node->offers, &made, sizeof(void *), import);
    return import;
}

struct rsmd_import *rsmd_client_import(const struct rsmd_node *node,
                                       const struct rsmd_client *client, uint32_t id)
{
    struct rsmd_import *import;
    HASH_FIND_INT(node->imports, &id, import);
    return import != NULL && import->client == client ? import : NULL;
}

/* False: a table could not grow, and it is in none. */
static bool enter_tables(struct rsmd_node *node, struct rsmd_import *import)
{
    HASH_ADD_INT(node->imports, id, import);
    if (import->hh.tbl == NULL)
        return false;
    if (import->by == NULL || import->by->event_fd < 0)
        return true;
    HASH_ADD(hh_made, node->offers, made, sizeof(void *), import);
    if (import->hh_made.tbl != NULL)
        return true;
    HASH_DEL(node->imports, import);
    return false;
}

/* Give back what every connection has, and free it. */
static void delete_import(struct rsmd_node *node, struct rsmd_import *import)
{
    if (import->slot != 0)
        rsmd_generation_table_release(node->generation_table, import->slot);
    rsmd_share_give(import->account, RSMD_SEGMENTS, 1);
    rsmd_account_drop(import->account);
    free(import);
}

/* A connection with what every one has, in no table and no list. */
static enum rsm_status new_import(struct rsmd_node *node, struct rsmd_client *client,
                                  struct rsmd_account *account, struct rsmd_controller *controller,
                                  struct rsmd_import **made)
{
    if (!rsmd_share_take(account, RSMD_SEGMENTS, 1))
        return RSM_ST_NO_RESOURCES;
    struct rsmd_import *import = calloc(1, sizeof *import);
    if (import == NULL) {
        rsmd_share_give(account, RSMD_SEGMENTS, 1);
        return RSM_ST_NO_MEMORY;
    }
    import->account = rsmd_account_hold(account);
    import->slot = rsmd_generation_table_take(node->generation_table);
    if (import->slot == 0) {
        delete_import(node, import);
        return RSM_ST_NO_RESOURCES;
    }
    import->id = rsmd_new_id(node);
    import->client = client;
    import->controller = controller;
    import->exporter = node->id;
    rsmd_events_init(&import->events);
    *made = import;
    return RSM_ST_OK;
}

/* Into the tables and its client's list. False: out of memory, and it is freed. */
static bool enter(struct rsmd_node *node, struct rsmd_import *import)
{
    if (!enter_tables(node, import)) {
        delete_import(node, import);
        return false;
    }
    DL_APPEND(import->client->imports, import);
    rsmd_slotmap_set(node->imports_by_slot, import->slot, import);
    node->connects++;
    return true;
}

enum rsm_status rsmd_import_make(struct rsmd_node *node, struct rsmd_client *client,
                                 struct rsmd_account *account, const struct rsm_importer *importer,
                                 struct rsmd_export *exported, struct rsmd_controller *by,
                                 struct rsm_node_offer *offer, bool attached,
                                 struct rsmd_import **made)
{
    struct rsmd_import *import;
    if (!guest_comes(node, exported, importer->uid))
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = new_import(node, client, account, exported->controller, &import);
    if (status != RSM_ST_OK) {
        guest_goes(node, exported, importer->uid);
        return status;
    }
    import->importer = *importer;
    import->exported = exported;
    import->by = by;
    import->made = offer;
    import->attached = attached;
    if (!enter(node, import)) {
        guest_goes(node, exported, importer->uid);
        return RSM_ST_NO_MEMORY;
    }
    import->pieces = rsmd_pieces_hold(exported->pieces);
    add_to_export(exported, import);
    rsmd_generation_table_advance(node->generation_table, exported->epoch_slot);
    rsmd_record_to_exporter(node, exported, RSM_RECORD_CONNECTED, import);
    *made = import;
    return RSM_ST_OK;
}

bool rsmd_import_rejoin(struct rsmd_node *node, struct rsmd_import *import,
                        struct rsmd_export *exported, struct rsmd_controller *by)
{
    if (!guest_comes(node, exported, import->importer.uid))
        return false;
    import->by = by;
    if (by->event_fd >= 0) {
        HASH_ADD(hh_made, node->offers, made, sizeof(void *), import);
        if (import->hh_made.tbl == NULL) {
            guest_goes(node, exported, import->importer.uid);
            return false;
        }
    }
    import->exported = exported;
    add_to_export(exported, import);
    /* Posters may have been about to ask for the rest of a list that has another order now. */
    rsmd_generation_table_advance(node->generation_table, exported->epoch_slot);
    return true;
}

enum rsm_status rsmd_import_make_remote(struct rsmd_node *node, struct rsmd_client *client,
                                        struct rsmd_controller *controller,
                                        struct rsmd_import **made)
{
    enum rsm_status status = new_import(node, client, client->account, controller, made);
    if (status != RSM_ST_OK)
        return status;
    return enter(node, *made) ? RSM_ST_OK : RSM_ST_NO_MEMORY;
}

void rsmd_import_free(struct rsmd_node *node, struct rsmd_import *import)
{
    struct rsmd_export *exported = import->exported;
    if (exported != NULL) {
        sever(node, import, import->disconnected ? RSM_RECORD_DISCONNECTED : RSM_RECORD_LOST);
        rsmd_export_settle(node, import->client, exported);
    }
    rsmd_remote_disconnect(node, import);
    rsmd_relay_free(import);
    rsmd_records_end(import->account, &import->records);
    rsmd_events_close(import->account, &import->events);
    rsmd_slotmap_set(node->imports_by_slot, import->slot, NULL);
    HASH_DEL(node->imports, import);
    DL_DELETE(import->client->imports, import);
    delete_import(node, import);
}
