/* SPDX-License-Identifier: BSD-3-Clause */
/* Export segments in a snapshot. */
#include <stdlib.h>
#include <string.h>

#include "node/counters.h"
#include "node/records.h"
#include "node/exports.h"
#include "node/extents.h"
#include "node/saved.h"

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
    rsmd_events_init(&exported->events);
    HASH_ADD_INT(node->exports, id, exported);
    if (exported->hh.tbl == NULL) {
        rsmd_generation_table_release(node->generation_table, saved->slot);
        free(exported);
        return false;
    }
    rsmd_share_charge(client->account, RSMD_SEGMENTS, 1);
    DL_APPEND(client->exports, exported);
    rsmd_slotmap_set(node->exports_by_slot, exported->epoch_slot, exported);
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
