/* SPDX-License-Identifier: BSD-3-Clause */
/* Import segments in a snapshot. */
#include <stdlib.h>
#include <string.h>

#include "node/controllers.h"
#include "node/events.h"
#include "node/offer.h"
#include "node/records.h"
#include "node/registry.h"
#include "node/saved.h"

struct saved_import {
    uint32_t id, exported, rights, slot, attached, leaves, disconnected, exporter;
    uint32_t same_pieces; /* as the export has now */
    char controller[RSM_PROTO_NAME_MAX];
    char by[RSM_PROTO_NAME_MAX];
    struct {
        uint32_t node, uid, gid, pid;
    } importer;
    struct mapping_choice choice;
    struct rsmd_saved_pieces pieces;
    struct rsmd_saved_events events;
};

static void walk_import(struct rsm_codec *c, void *record)
{
    struct saved_import *saved = record;
    rsm_codec_u32(c, &saved->id);
    rsm_codec_u32(c, &saved->exported);
    rsm_codec_u32(c, &saved->rights);
    rsm_codec_u32(c, &saved->slot);
    rsm_codec_count(c, &saved->attached, 1);
    rsm_codec_count(c, &saved->leaves, 1);
    rsm_codec_count(c, &saved->disconnected, 1);
    rsm_codec_u32(c, &saved->exporter);
    rsm_codec_count(c, &saved->same_pieces, 1);
    rsmd_walk_saved_name(c, saved->controller);
    rsmd_walk_saved_name(c, saved->by);
    rsm_codec_u32(c, &saved->importer.node);
    rsm_codec_u32(c, &saved->importer.uid);
    rsm_codec_u32(c, &saved->importer.gid);
    rsm_codec_u32(c, &saved->importer.pid);
    rsm_codec_u32(c, &saved->choice.trap);
    rsm_codec_u32(c, &saved->choice.reason);
    rsmd_walk_saved_pieces(c, &saved->pieces);
    rsmd_walk_saved_events(c, &saved->events);
}

static void save_import(struct rsmd_snapshot *snapshot, const struct rsmd_import *import)
{
    const struct rsmd_export *exported = import->exported;
    struct saved_import saved = {.id = import->id,
                                 .exported = exported != NULL ? exported->id : 0,
                                 .rights = import->rights,
                                 .slot = import->slot,
                                 .attached = import->attached,
                                 .leaves = import->asked_to_leave,
                                 .disconnected = import->disconnected,
                                 .exporter = import->exporter,
                                 .importer = {.node = import->importer.node,
                                              .uid = import->importer.uid,
                                              .gid = import->importer.gid,
                                              .pid = (uint32_t)import->importer.pid},
                                 .choice = import->choice,
                                 .events = rsmd_save_events(snapshot, &import->events)};
    memcpy(saved.controller, import->controller->name, sizeof saved.controller);
    if (exported != NULL) {
        memcpy(saved.by, import->by->name, sizeof saved.by);
        saved.same_pieces = import->pieces == exported->pieces;
        if (!saved.same_pieces)
            rsmd_save_pieces(&saved.pieces, import->pieces);
    }
    rsmd_snapshot_put(snapshot, RSMD_SAVED_IMPORT, walk_import, &saved);
    rsmd_save_records(snapshot, import->records);
}

void rsmd_save_imports(struct rsmd_snapshot *snapshot, const struct rsmd_client *client)
{
    const struct rsmd_import *import;
    DL_FOREACH(client->imports, import)
    save_import(snapshot, import);
}

/* Connect it with its export again. False: that is impossible, or there is no memory; then it is
 * not connected. */
static bool reconnect(struct rsmd_node *node, struct rsmd_import *import,
                      const struct saved_import *saved, struct rsmd_export *exported,
                      struct rsmd_controller *by)
{
    struct rsm_extent_piece pieces[RSM_PROTO_PIECES_MAX];
    struct rsmd_pieces *list = !saved->same_pieces
                                   ? rsmd_restore_pieces(node, exported->client, &saved->pieces)
                               : exported->pieces != NULL ? rsmd_pieces_hold(exported->pieces)
                                                          : NULL;
    if (list == NULL)
        return false;
    bool known = true;
    for (uint32_t i = 0; i < list->count; i++) {
        struct rsmd_extent *extent = list->piece[i].extent;
        pieces[i] = (struct rsm_extent_piece){.extent = extent->controller == by ? extent->memory
                                                                                 : extent->adopted,
                                              .offset = list->piece[i].offset,
                                              .length = list->piece[i].length};
        known &= pieces[i].extent != NULL;
    }
    if (!known ||
        by->ops->offer_take(by->port, pieces, list->count, saved->rights, &import->importer,
                            &import->made) != RSM_ST_OK ||
        !rsmd_import_rejoin(node, import, exported, by)) {
        rsmd_pieces_drop(list);
        import->made = NULL;
        return false;
    }
    rsmd_offer_charge_again(by, import->made, import->account, &import->price);
    import->pieces = list;
    return true;
}

/* One that belongs to nobody yet. NULL: no memory, or impossible. */
static struct rsmd_import *make_import(struct rsmd_node *node, struct rsmd_client *client,
                                       const struct saved_import *saved,
                                       struct rsmd_controller *controller)
{
    struct rsmd_import *import = calloc(1, sizeof *import);
    if (import == NULL || !rsmd_generation_table_claim(node->generation_table, saved->slot)) {
        free(import);
        return NULL;
    }
    *import = (struct rsmd_import){.id = saved->id,
                                   .client = client,
                                   .account = rsmd_account_hold(client->account),
                                   .controller = controller,
                                   .importer = {.node = saved->importer.node,
                                                .uid = saved->importer.uid,
                                                .gid = saved->importer.gid,
                                                .pid = (pid_t)saved->importer.pid,
                                                .local = true},
                                   .rights = saved->rights,
                                   .slot = saved->slot,
                                   .attached = saved->attached != 0,
                                   .asked_to_leave = saved->leaves != 0,
                                   .disconnected = saved->disconnected != 0,
                                   .choice = saved->choice,
                                   .exporter = saved->exporter};
    rsmd_events_init(&import->events);
    HASH_ADD_INT(node->imports, id, import);
    if (import->hh.tbl == NULL) {
        rsmd_generation_table_release(node->generation_table, saved->slot);
        rsmd_account_drop(import->account);
        free(import);
        return NULL;
    }
    rsmd_share_charge(import->account, RSMD_SEGMENTS, 1);
    DL_APPEND(client->imports, import);
    rsmd_slotmap_set(node->imports_by_slot, import->slot, import);
    return import;
}

/* The import that was decoded, and its records. */
static bool restore_import(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                           struct rsmd_client *client, const struct saved_import *saved)
{
    struct rsmd_controller *controller = rsmd_saved_controller_of(node, client, saved->controller);
    struct rsmd_controller *by = rsmd_saved_controller(node, saved->by);
    struct rsmd_export *exported = NULL;
    struct rsmd_import *import =
        controller != NULL ? make_import(node, client, saved, controller) : NULL;
    if (import == NULL)
        return false;
    bool whole = rsmd_restore_events(reader, import->account, &saved->events, &import->events) &&
                 rsmd_restore_records(reader, import->account, &import->records);
    if (saved->exported == 0)
        return whole;
    HASH_FIND_INT(node->exports, &saved->exported, exported);
    if (exported != NULL && by != NULL) {
        if (reconnect(node, import, saved, exported, by))
            return whole;
        if (exported->client->lost == NULL)
            return false;
    }
    /* Its segment has ended with the controller or the exporter: it learns that as ever. */
    rsmd_generation_table_advance(node->generation_table, import->slot);
    rsmd_record_to_importer(node, import, RSM_RECORD_LOST);
    return whole;
}

static bool is_import(uint32_t type)
{
    return type == RSMD_SAVED_IMPORT;
}

static bool restore_next(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                         struct rsmd_client *client)
{
    struct saved_import saved;
    return is_import(rsmd_snapshot_next(reader)) &&
           rsmd_snapshot_get(reader, walk_import, &saved, sizeof saved) &&
           !rsmd_id_in_use(node, saved.id) && rsmcore_map_choice_is_valid(&saved.choice) &&
           restore_import(reader, node, client, &saved);
}

void rsmd_restore_imports(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                          struct rsmd_client *client)
{
    while (!rsmd_snapshot_is_over(reader))
        if (!restore_next(reader, node, client))
            rsmd_saved_is_damaged(reader, client, is_import);
}
