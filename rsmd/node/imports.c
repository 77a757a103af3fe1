/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/imports.h"

#include <stdlib.h>
#include <string.h>

#include "node/counters.h"
#include "node/exports.h"
#include "node/grants.h"
#include "node/records.h"
#include "node/extents.h"
#include "node/saved.h"

/* ------------------------------------------------------------------ importers */

/* Enter it under its id and in its slot. False: no memory. */
static bool note(struct rsmd_node *node, struct rsmd_importer *importer,
                 struct rsmd_account *account)
{
    HASH_ADD_INT(node->importers, id, importer);
    if (importer->hh.tbl == NULL)
        return false;
    importer->account = rsmd_account_hold(account);
    rsmd_slotmap_set(node->importers_by_slot, importer->slot, importer);
    return true;
}

enum rsm_status rsmd_importer_enter(struct rsmd_node *node, struct rsmd_importer *importer,
                                    struct rsmd_account *account)
{
    if (!rsmd_share_take(account, RSMD_SEGMENTS, 1))
        return RSM_ST_NO_RESOURCES;
    importer->slot = rsmd_generation_table_take(node->generation_table);
    if (importer->slot == 0) {
        rsmd_share_give(account, RSMD_SEGMENTS, 1);
        return RSM_ST_NO_RESOURCES;
    }
    importer->id = rsmd_new_id(node);
    if (note(node, importer, account))
        return RSM_ST_OK;
    rsmd_generation_table_release(node->generation_table, importer->slot);
    rsmd_share_give(account, RSMD_SEGMENTS, 1);
    importer->slot = 0;
    return RSM_ST_NO_MEMORY;
}

bool rsmd_importer_resume(struct rsmd_node *node, struct rsmd_importer *importer,
                          struct rsmd_account *account)
{
    if (!rsmd_generation_table_claim(node->generation_table, importer->slot))
        return false;
    if (!note(node, importer, account)) {
        rsmd_generation_table_release(node->generation_table, importer->slot);
        return false;
    }
    rsmd_share_charge(account, RSMD_SEGMENTS, 1);
    return true;
}

void rsmd_importer_leave(struct rsmd_node *node, struct rsmd_importer *importer)
{
    if (importer->slot == 0)
        return;
    rsmd_slotmap_set(node->importers_by_slot, importer->slot, NULL);
    HASH_DEL(node->importers, importer);
    rsmd_generation_table_release(node->generation_table, importer->slot);
    rsmd_share_give(importer->account, RSMD_SEGMENTS, 1);
    rsmd_account_drop(importer->account);
    importer->slot = 0;
}

struct rsmd_importer *rsmd_importer_find(const struct rsmd_node *node, uint32_t id)
{
    struct rsmd_importer *importer;
    HASH_FIND_INT(node->importers, &id, importer);
    return importer;
}

/* ------------------------------------------------------------------ an importer here */

static struct rsmd_import *import_of(struct rsmd_importer *importer)
{
    return (struct rsmd_import *)importer;
}

static void abort_import(struct rsmd_node *node, struct rsmd_importer *importer,
                         enum rsm_record_event event)
{
    rsmd_grant_revoke(node, importer->grant, event);
    rsmd_import_aborted(node, import_of(importer));
}

static void lose_import(struct rsmd_node *node, struct rsmd_importer *importer)
{
    rsmd_export_abort(node, importer->grant);
}

/* An importer without records gets the notice with its first record. */
static void notify_import(struct rsmd_node *node, struct rsmd_importer *importer)
{
    import_of(importer)->asked_to_leave = true;
    rsmd_record_to_importer(node, importer, RSM_RECORD_UNAVAILABLE);
}

static enum rsm_status need_counter(struct rsmd_node *node, struct rsmd_importer *importer,
                                    const struct rsmd_events **events)
{
    (void)node;
    *events = &import_of(importer)->events;
    return rsmd_events_need_counter(importer->account, &import_of(importer)->events);
}

static bool miss_event(struct rsmd_node *node, struct rsmd_importer *importer)
{
    struct rsmd_import *import = import_of(importer);
    rsmd_events_miss(node, import->client, &import->events);
    return true;
}

static bool ring_import(struct rsmd_importer *importer)
{
    return rsmd_events_ring(&import_of(importer)->events);
}

/* No event goes over the fabric to a process of this host. */
static void take_nothing(struct rsmd_importer *importer)
{
    (void)importer;
}

static void show_import(const struct rsmd_importer *importer, struct rsm_inspect_item *item)
{
    const struct rsmd_import *import = (const struct rsmd_import *)importer;
    item->pending = rsmd_events_see(&import->events).pending;
    item->choice = import->choice;
    import->exporter_ops->about(import, item);
}

static const struct rsmd_importer_ops importer_here = {
    .abort = abort_import,
    .lost = lose_import,
    .unavailable = notify_import,
    .receiver = need_counter,
    .missed = miss_event,
    .ring = ring_import,
    .taken = take_nothing,
    .about = show_import,
};

const struct rsmd_import *rsmd_importer_import(const struct rsmd_importer *importer)
{
    return importer->ops == &importer_here ? (const struct rsmd_import *)importer : NULL;
}

/* ------------------------------------------------------------------ an exporter here */

static void disconnect(struct rsmd_node *node, struct rsmd_import *import)
{
    struct rsmd_grant *grant = import->importer.grant;
    if (grant == NULL)
        return;
    struct rsmd_export *exported = grant->exported;
    rsmd_grant_revoke(node, grant,
                      import->disconnected ? RSM_RECORD_DISCONNECTED : RSM_RECORD_LOST);
    rsmd_export_settle(node, import->client, exported);
}

static enum rsm_status need_exporters_counter(struct rsmd_node *node, struct rsmd_import *import,
                                              const struct rsmd_events **events)
{
    (void)node;
    *events = NULL;
    if (import->importer.grant == NULL)
        return RSM_ST_OK;
    struct rsmd_export *exported = import->importer.grant->exported;
    *events = &exported->events;
    return rsmd_events_need_counter(exported->client->account, &exported->events);
}

static bool ring_exporter(struct rsmd_import *import)
{
    const struct rsmd_grant *grant = import->importer.grant;
    return grant != NULL && rsmd_events_ring(&grant->exported->events);
}

static void show_export(const struct rsmd_import *import, struct rsm_inspect_item *item)
{
    if (import->importer.grant != NULL)
        rsmd_grant_about(import->importer.grant, item);
}

static const struct rsmd_exporter_ops exporter_here = {
    .disconnect = disconnect,
    .receiver = need_exporters_counter,
    .ring = ring_exporter,
    .about = show_export,
};

/* ------------------------------------------------------------------ imports */

void rsmd_import_init(struct rsmd_node *node, struct rsmd_import *import,
                      struct rsmd_client *client)
{
    *import = (struct rsmd_import){.importer = {.ops = &importer_here, .exporter = node->id},
                                   .exporter_ops = &exporter_here,
                                   .client = client};
    rsmd_events_init(&import->events);
}

void rsmd_import_add(struct rsmd_import *import)
{
    DL_APPEND(import->client->imports, import);
}

struct rsmd_import *rsmd_client_import(const struct rsmd_node *node,
                                       const struct rsmd_client *client, uint32_t id)
{
    struct rsmd_importer *importer = rsmd_importer_find(node, id);
    if (importer == NULL || importer->ops != &importer_here)
        return NULL;
    return import_of(importer)->client == client ? import_of(importer) : NULL;
}

void rsmd_import_aborted(struct rsmd_node *node, struct rsmd_import *import)
{
    import->aborted = true;
    rsmd_record_to_importer(node, &import->importer, RSM_RECORD_LOST);
}

void rsmd_import_free(struct rsmd_node *node, struct rsmd_import *import)
{
    struct rsmd_account *account = import->importer.account;
    import->exporter_ops->disconnect(node, import);
    rsmd_records_end(&import->importer.records);
    rsmd_events_close(account, &import->events);
    DL_DELETE(import->client->imports, import);
    rsmd_importer_leave(node, &import->importer);
    free(import);
}

void rsmd_import_posted(struct rsmd_node *node, struct rsmd_import *import, uint32_t count,
                        bool coalesced)
{
    rsmd_events_deliver_batch(node, import->client, import->importer.account, &import->events,
                              count, coalesced);
}

/* ------------------------------------------------------------------ handover */

static void save_import(struct rsmd_snapshot *snapshot, const struct rsmd_import *import)
{
    const struct rsmd_importer *importer = &import->importer;
    const struct rsmd_grant *grant = importer->grant;
    struct rsmd_saved_import saved = {.id = importer->id,
                                      .exported = grant != NULL ? grant->exported->id : 0,
                                      .rights = importer->rights,
                                      .slot = importer->slot,
                                      .attached = importer->attached,
                                      .leaves = import->asked_to_leave,
                                      .disconnected = import->disconnected,
                                      .exporter = importer->exporter,
                                      .importer = {.node = importer->who.node,
                                                   .uid = importer->who.uid,
                                                   .gid = importer->who.gid,
                                                   .pid = (uint32_t)importer->who.pid},
                                      .choice = import->choice,
                                      .counts = import->counts,
                                      .events = rsmd_save_events(snapshot, &import->events)};
    memcpy(saved.controller, importer->controller->name, sizeof saved.controller);
    if (grant != NULL) {
        memcpy(saved.by, grant->by->name, sizeof saved.by);
        saved.same_pieces = grant->pieces == grant->exported->pieces;
        if (!saved.same_pieces)
            rsmd_save_pieces(&saved.pieces, grant->pieces);
    }
    rsmd_saved_put(snapshot, RSMD_SAVED_IMPORT, &saved);
    rsmd_save_mailbox(snapshot, importer->records);
}

void rsmd_save_imports(struct rsmd_snapshot *snapshot, const struct rsmd_client *client)
{
    const struct rsmd_import *import;
    DL_FOREACH(client->imports, import)
    save_import(snapshot, import);
}

/* Restore the pieces of a connection's segment. NULL: impossible, or no memory. */
static struct rsmd_pieces *restore_pieces(const struct rsmd_node *node,
                                          const struct rsmd_saved_import *saved,
                                          const struct rsmd_export *exported)
{
    if (!saved->same_pieces)
        return rsmd_restore_pieces(node, exported->client, &saved->pieces);
    return exported->pieces != NULL ? rsmd_pieces_hold(exported->pieces) : NULL;
}

/* Let the transport take over the offer. False: it does not. */
static bool take_offer(struct rsmd_grant *grant)
{
    struct rsm_extent_piece pieces[RSM_PROTO_PIECES_MAX];
    const struct rsmd_controller *by = grant->by;
    for (uint32_t i = 0; i < grant->pieces->count; i++) {
        struct rsmd_extent *extent = grant->pieces->piece[i].extent;
        pieces[i] = (struct rsm_extent_piece){.extent = extent->controller == by ? extent->memory
                                                                                 : extent->adopted,
                                              .offset = grant->pieces->piece[i].offset,
                                              .length = grant->pieces->piece[i].length};
        if (pieces[i].extent == NULL)
            return false;
    }
    return by->ops->offer_take(by->port, pieces, grant->pieces->count, grant->importer->rights,
                               &grant->importer->who, &grant->made) == RSM_ST_OK;
}

/* Connect it with its export again. False: impossible, or no memory; it is not connected. */
static bool reconnect(struct rsmd_node *node, struct rsmd_import *import,
                      const struct rsmd_saved_import *saved, struct rsmd_export *exported,
                      struct rsmd_controller *by)
{
    struct rsmd_grant *grant = calloc(1, sizeof *grant);
    if (grant == NULL)
        return false;
    *grant = (struct rsmd_grant){.importer = &import->importer,
                                 .exported = exported,
                                 .by = by,
                                 .pieces = restore_pieces(node, saved, exported)};
    if (grant->pieces != NULL && take_offer(grant) && rsmd_grant_rejoin(node, grant))
        return true;
    if (grant->pieces != NULL)
        rsmd_pieces_drop(grant->pieces);
    free(grant);
    return false;
}

/* Make one that is not connected yet. NULL: no memory, or impossible. */
static struct rsmd_import *make_import(struct rsmd_node *node, struct rsmd_client *client,
                                       const struct rsmd_saved_import *saved,
                                       struct rsmd_controller *controller)
{
    struct rsmd_import *import = malloc(sizeof *import);
    if (import == NULL)
        return NULL;
    rsmd_import_init(node, import, client);
    struct rsmd_importer *importer = &import->importer;
    importer->id = saved->id;
    importer->slot = saved->slot;
    importer->who = (struct rsm_importer){.size = sizeof(struct rsm_importer),
                                          .node = saved->importer.node,
                                          .uid = saved->importer.uid,
                                          .gid = saved->importer.gid,
                                          .pid = (pid_t)saved->importer.pid,
                                          .local = true};
    importer->rights = saved->rights;
    importer->exporter = saved->exporter;
    importer->controller = controller;
    importer->attached = saved->attached != 0;
    import->aborted = saved->exported == 0;
    import->asked_to_leave = saved->leaves != 0;
    import->disconnected = saved->disconnected != 0;
    import->choice = saved->choice;
    import->counts = saved->counts;
    if (!rsmd_importer_resume(node, importer, client->account)) {
        free(import);
        return NULL;
    }
    rsmd_import_add(import);
    return import;
}

/* Restore a decoded import and its records. */
static bool restore_import(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                           struct rsmd_client *client, const struct rsmd_saved_import *saved)
{
    struct rsmd_controller *controller = rsmd_saved_controller_of(node, client, saved->controller);
    struct rsmd_controller *by = rsmd_saved_controller(node, saved->by);
    struct rsmd_export *exported = NULL;
    struct rsmd_import *import =
        controller != NULL ? make_import(node, client, saved, controller) : NULL;
    if (import == NULL)
        return false;
    struct rsmd_account *account = import->importer.account;
    bool whole = rsmd_restore_events(reader, account, &saved->events, &import->events) &&
                 rsmd_restore_records(reader, account, &import->importer.records);
    if (saved->exported == 0)
        return whole;
    HASH_FIND_INT(node->exports, &saved->exported, exported);
    if (exported != NULL && by != NULL) {
        if (reconnect(node, import, saved, exported, by))
            return whole;
        if (exported->client->lost == NULL)
            return false;
    }
    /* Its segment has ended with the controller or the exporter: it learns of that by its slot. */
    rsmd_generation_table_advance(node->generation_table, import->importer.slot);
    rsmd_import_aborted(node, import);
    return whole;
}

static bool is_import(uint32_t type)
{
    return type == RSMD_SAVED_IMPORT;
}

static bool restore_next(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                         struct rsmd_client *client)
{
    struct rsmd_saved_import saved;
    return rsmd_saved_get(reader, RSMD_SAVED_IMPORT, &saved) && !rsmd_id_in_use(node, saved.id) &&
           rsmcore_map_choice_is_valid(&saved.choice) &&
           restore_import(reader, node, client, &saved);
}

void rsmd_restore_imports(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                          struct rsmd_client *client)
{
    while (!rsmd_snapshot_is_over(reader))
        if (!restore_next(reader, node, client))
            rsmd_saved_is_damaged(reader, client, is_import);
}
