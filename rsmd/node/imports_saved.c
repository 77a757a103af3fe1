/* SPDX-License-Identifier: BSD-3-Clause */
/* Import segments in a snapshot. */
#include <stdlib.h>
#include <string.h>

#include "node/extents.h"
#include "node/grants.h"
#include "node/imports.h"
#include "node/saved.h"

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
