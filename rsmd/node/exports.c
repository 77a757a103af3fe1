/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/exports.h"

#include <stdlib.h>
#include <string.h>

#include "node/counters.h"
#include "node/extents.h"
#include "node/grants.h"
#include "node/records.h"
#include "node/unfinished.h"
#include "node/saved.h"

struct rsmd_export *rsmd_client_export(const struct rsmd_node *node,
                                       const struct rsmd_client *client, uint32_t id)
{
    struct rsmd_export *exported;
    HASH_FIND_INT(node->exports, &id, exported);
    return exported != NULL && exported->client == client && !exported->ended ? exported : NULL;
}

/* Enter one that has its id and slot into the tables. False: no memory; it is freed. */
static bool enter(struct rsmd_node *node, struct rsmd_export *exported)
{
    rsmd_events_init(&exported->events);
    HASH_ADD_INT(node->exports, id, exported);
    if (exported->hh.tbl == NULL) {
        rsmd_generation_table_release(node->generation_table, exported->epoch_slot);
        free(exported);
        return false;
    }
    DL_APPEND(exported->client->exports, exported);
    rsmd_slotmap_set(node->exports_by_slot, exported->epoch_slot, exported);
    return true;
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
    if (!enter(node, exported)) {
        rsmd_share_give(client->account, RSMD_SEGMENTS, 1);
        return RSM_ST_NO_MEMORY;
    }
    *made = exported;
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ ends */

bool rsmd_export_is_used(const struct rsmd_export *exported)
{
    return exported->grants != NULL || exported->attached != NULL;
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
        rsmd_unfinished_report(node, client, exported);
    }
    if (!rsmd_export_is_used(exported))
        rsmd_export_free(node, exported);
}

static void abort_grant(struct rsmd_node *node, struct rsmd_grant *grant,
                        enum rsm_record_event event)
{
    grant->importer->ops->abort(node, grant->importer, event);
}

void rsmd_export_abort(struct rsmd_node *node, struct rsmd_grant *grant)
{
    struct rsmd_export *exported = grant->exported;
    abort_grant(node, grant, RSM_RECORD_LOST);
    rsmd_export_settle(node, exported->client, exported);
}

void rsmd_export_cut_first(struct rsmd_node *node, struct rsmd_export *exported)
{
    abort_grant(node, exported->grants != NULL ? exported->grants : exported->attached,
                RSM_RECORD_CUT);
}

void rsmd_export_unname(struct rsmd_node *node, struct rsmd_export *exported)
{
    rsmd_export_withdraw(node, exported);
    forget_claim(node, exported);
}

void rsmd_export_destroy(struct rsmd_node *node, struct rsmd_export *exported)
{
    rsmd_export_unname(node, exported);
    rsmd_records_end(&exported->records);
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
    rsmd_records_end(&exported->records);
    exported->ended = true;
    if (!named) /* unpublished before: report it to importers that are still connected */
        rsmd_unfinished_report(node, exported->client, exported);
    rsmd_export_settle(node, exported->client, exported);
}

void rsmd_export_free(struct rsmd_node *node, struct rsmd_export *exported)
{
    while (rsmd_export_is_used(exported))
        rsmd_export_cut_first(node, exported);
    rsmd_export_unname(node, exported);
    rsmd_records_end(&exported->records);
    rsmd_events_close(exported->client->account, &exported->events);
    rsmd_slotmap_set(node->exports_by_slot, exported->epoch_slot, NULL);
    rsmd_generation_table_release(node->generation_table, exported->epoch_slot);
    HASH_DEL(node->exports, exported);
    DL_DELETE(exported->client->exports, exported);
    rsmd_share_give(exported->client->account, RSMD_SEGMENTS, 1);
    free(exported);
}

/* ------------------------------------------------------------------ events */

void rsmd_export_posted(struct rsmd_node *node, struct rsmd_export *exported, uint32_t count,
                        bool coalesced)
{
    rsmd_events_deliver_batch(node, exported->client, exported->client->account, &exported->events,
                              count, coalesced);
}

/* ------------------------------------------------------------------ handover */

void rsmd_save_export(struct rsmd_snapshot *snapshot, const struct rsmd_export *exported)
{
    struct rsmd_saved_export saved = {.id = exported->id,
                                      .creator = (uint32_t)exported->creator,
                                      .slot = exported->epoch_slot,
                                      .published = exported->published,
                                      .claimed = exported->claimed,
                                      .shared = exported->shared,
                                      .offered = exported->offered,
                                      .ended = exported->ended,
                                      .named = exported->hh_segment.tbl != NULL,
                                      .length = exported->length,
                                      .size = exported->size,
                                      .access = exported->access,
                                      .name = exported->name,
                                      .events = rsmd_save_events(snapshot, &exported->events)};
    memcpy(saved.controller, exported->controller->name, sizeof saved.controller);
    memcpy(saved.state, exported->state, sizeof saved.state);
    rsmd_save_pieces(&saved.pieces, exported->pieces);
    rsmd_saved_put(snapshot, RSMD_SAVED_EXPORT, &saved);
    rsmd_save_mailbox(snapshot, exported->records);
}

static bool is_possible_export(const struct rsmd_node *node, const struct rsmd_saved_export *saved)
{
    const struct rsmd_export *other;
    if (saved->length == 0 || saved->size > saved->length || rsmd_id_in_use(node, saved->id) ||
        saved->named != (saved->published | saved->claimed) ||
        saved->published != (saved->pieces.count > 0))
        return false;
    if (!saved->named)
        return true;
    HASH_FIND(hh_segment, node->published, &saved->name, sizeof saved->name, other);
    return other == NULL;
}

/* Restore its name and, if it is published, its pieces: both or neither. */
static bool restore_name(struct rsmd_node *node, struct rsmd_export *exported,
                         const struct rsmd_saved_export *saved)
{
    if (!saved->named)
        return true;
    if (saved->published) {
        exported->pieces = rsmd_restore_pieces(node, exported->client, &saved->pieces);
        if (exported->pieces == NULL)
            return false;
    }
    if (!rsmd_export_name(node, exported, &saved->name)) {
        if (exported->pieces != NULL)
            rsmd_pieces_drop(exported->pieces);
        exported->pieces = NULL;
        return false;
    }
    exported->claimed = saved->claimed != 0;
    exported->published = saved->published != 0;
    return true;
}

static bool make_export(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                        struct rsmd_client *client, const struct rsmd_saved_export *saved,
                        struct rsmd_controller *controller)
{
    struct rsmd_export *exported = calloc(1, sizeof *exported);
    if (exported == NULL || !rsmd_generation_table_claim(node->generation_table, saved->slot)) {
        free(exported);
        return false;
    }
    *exported = (struct rsmd_export){.id = saved->id,
                                     .client = client,
                                     .controller = controller,
                                     .length = saved->length,
                                     .size = saved->size,
                                     .creator = (pid_t)saved->creator,
                                     .epoch_slot = saved->slot,
                                     .access = saved->access,
                                     .shared = saved->shared != 0,
                                     .offered = saved->offered != 0,
                                     .ended = saved->ended != 0};
    memcpy(exported->state, saved->state, sizeof exported->state);
    if (!enter(node, exported))
        return false;
    rsmd_share_charge(client->account, RSMD_SEGMENTS, 1);
    return rsmd_restore_events(reader, client->account, &saved->events, &exported->events) &&
           restore_name(node, exported, saved);
}

bool rsmd_restore_export(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                         struct rsmd_client *client)
{
    struct rsmd_saved_export saved;
    if (!rsmd_saved_get(reader, RSMD_SAVED_EXPORT, &saved) || !is_possible_export(node, &saved))
        return false;
    struct rsmd_controller *controller = rsmd_saved_controller_of(node, client, saved.controller);
    return controller != NULL && make_export(reader, node, client, &saved, controller) &&
           rsmd_restore_records(reader, client->account, &client->exports->prev->records);
}
