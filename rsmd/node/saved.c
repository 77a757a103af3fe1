/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/saved.h"

#include <string.h>

#include "base/sealed.h"
#include "node/controllers.h"
#include "node/counters.h"
#include "node/exports.h"
#include "node/grants.h"
#include "node/imports.h"

void rsmd_walk_saved_name(struct rsm_codec *c, char name[RSM_PROTO_NAME_MAX])
{
    rsm_codec_string(c, name, RSM_PROTO_NAME_MAX);
}

struct rsmd_controller *rsmd_saved_controller(const struct rsmd_node *node, const char *name)
{
    struct rsmd_controller *controller = rsmd_controller_named(node, name);
    return controller != NULL && controller->ops->extent_take != NULL ? controller : NULL;
}

struct rsmd_controller *rsmd_saved_controller_of(const struct rsmd_node *node,
                                                 struct rsmd_client *client, const char *name)
{
    struct rsmd_controller *controller = rsmd_saved_controller(node, name);
    if (controller == NULL && client->lost == NULL)
        client->lost = "a controller that it uses is not there any more";
    return controller;
}

/* ------------------------------------------------------------------ the node */

struct saved_node {
    uint32_t id, last_id, last_interrupt, topology;
    uint64_t last_record;
    uint64_t next_segment_id[RSM_ID_SPACES];
};

static void walk_node(struct rsm_codec *c, void *record)
{
    struct saved_node *saved = record;
    rsm_codec_u32(c, &saved->id);
    rsm_codec_u32(c, &saved->last_id);
    rsm_codec_u32(c, &saved->last_interrupt);
    rsm_codec_u32(c, &saved->topology);
    rsm_codec_u64(c, &saved->last_record);
    for (unsigned space = 0; space < RSM_ID_SPACES; space++)
        rsm_codec_u64(c, &saved->next_segment_id[space]);
}

void rsmd_save_node(struct rsmd_snapshot *snapshot, const struct rsmd_node *node)
{
    struct saved_node saved = {.id = node->id,
                               .last_id = node->last_id,
                               .last_interrupt = node->last_interrupt,
                               .topology = node->topology.generation,
                               .last_record = node->last_record};
    memcpy(saved.next_segment_id, node->next_segment_id, sizeof saved.next_segment_id);
    rsmd_snapshot_section(snapshot);
    rsmd_snapshot_put(snapshot, RSMD_SAVED_NODE, walk_node, &saved);
}

bool rsmd_restore_node(struct rsmd_snapshot_reader *reader, struct rsmd_node *node)
{
    struct saved_node saved;
    if (rsmd_snapshot_next(reader) != RSMD_SAVED_NODE ||
        !rsmd_snapshot_get(reader, walk_node, &saved, sizeof saved) ||
        !rsmd_snapshot_is_over(reader) || saved.id != node->id)
        return false;
    node->last_id = saved.last_id;
    node->last_interrupt = saved.last_interrupt;
    node->topology.generation = saved.topology + 1;
    node->last_record = saved.last_record;
    memcpy(node->next_segment_id, saved.next_segment_id, sizeof node->next_segment_id);
    return true;
}

/* ------------------------------------------------------------------ events */

void rsmd_walk_saved_events(struct rsm_codec *c, struct rsmd_saved_events *saved)
{
    rsm_codec_u32(c, &saved->counter);
    rsm_codec_u32(c, &saved->doorbell);
    rsm_codec_count(c, &saved->missed, 1);
}

struct rsmd_saved_events rsmd_save_events(struct rsmd_snapshot *snapshot,
                                          const struct rsmd_events *events)
{
    return (struct rsmd_saved_events){.counter = rsmd_snapshot_fd(snapshot, events->counter),
                                      .doorbell = rsmd_snapshot_fd(snapshot, events->doorbell),
                                      .missed = events->missed};
}

bool rsmd_restore_events(struct rsmd_snapshot_reader *reader, struct rsmd_account *account,
                         const struct rsmd_saved_events *saved, struct rsmd_events *events)
{
    rsmd_events_init(events);
    events->counter = rsmd_snapshot_take(reader, saved->counter);
    events->doorbell = rsmd_snapshot_take(reader, saved->doorbell);
    events->missed = saved->missed != 0;
    rsmd_share_charge(account, RSMD_DESCRIPTORS,
                      (uint64_t)(events->counter >= 0) + (uint64_t)(events->doorbell >= 0));
    return !reader->bad && (events->counter < 0 || rsm_is_sealed_memory(events->counter, 1));
}

/* ------------------------------------------------------------------ clients */

static bool takes_part(const struct rsmd_controller *controller)
{
    return controller->ops->extent_take != NULL;
}

bool rsmd_saved_all_of(const struct rsmd_client *client)
{
    const struct rsmd_extent *extent;
    const struct rsmd_export *exported;
    const struct rsmd_import *import;
    DL_FOREACH(client->extents, extent)
    if (!takes_part(extent->controller))
        return false;
    DL_FOREACH(client->exports, exported)
    if (!takes_part(exported->controller))
        return false;
    DL_FOREACH(client->imports, import)
    if (!takes_part(import->importer.controller) ||
        (import->importer.grant != NULL && !takes_part(import->importer.grant->by)))
        return false;
    return client->jobs == 0 && client->forward_count == 0;
}

void rsmd_save_client(struct rsmd_snapshot *snapshot, const struct rsmd_client *client)
{
    const struct rsmd_extent *extent;
    const struct rsmd_export *exported;
    DL_FOREACH(client->extents, extent)
    rsmd_save_extent(snapshot, extent);
    DL_FOREACH(client->exports, exported)
    rsmd_save_export(snapshot, exported);
    rsmd_save_interrupts(snapshot, client);
}

static bool is_of_client(uint32_t type)
{
    return type == RSMD_SAVED_EXTENT || type == RSMD_SAVED_EXPORT || type == RSMD_SAVED_INTERRUPT ||
           type == RSMD_SAVED_IMPORT;
}

static bool restore_next(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                         struct rsmd_client *client)
{
    switch (rsmd_snapshot_next(reader)) {
    case RSMD_SAVED_EXTENT:
        return rsmd_restore_extent(reader, node, client);
    case RSMD_SAVED_EXPORT:
        return rsmd_restore_export(reader, node, client);
    case RSMD_SAVED_INTERRUPT:
        return rsmd_restore_interrupt(reader, node, client);
    default:
        return false;
    }
}

void rsmd_saved_is_damaged(struct rsmd_snapshot_reader *reader, struct rsmd_client *client,
                           bool (*goes_on)(uint32_t type))
{
    if (client->lost == NULL)
        client->lost = "what it had cannot be restored";
    rsmd_snapshot_skip(reader, goes_on);
}

void rsmd_restore_client(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                         struct rsmd_client *client)
{
    while (rsmd_snapshot_next(reader) != RSMD_SAVED_IMPORT && !rsmd_snapshot_is_over(reader))
        if (!restore_next(reader, node, client))
            rsmd_saved_is_damaged(reader, client, is_of_client);
}

void rsmd_restore_settle(struct rsmd_node *node)
{
    struct rsmd_export *exported, *next;
    HASH_ITER(hh, node->exports, exported, next)
    {
        rsmd_generation_table_advance(node->generation_table, exported->epoch_slot);
        rsmd_export_settle(node, exported->client, exported);
    }
}
