/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/saved.h"

#include <string.h>

#include "base/sealed.h"
#include "node/controllers.h"
#include "node/counters.h"
#include "node/exports.h"
#include "node/grants.h"
#include "node/imports.h"

/* ------------------------------------------------------------------ records */

/* Structures of other headers that are parts of records. */

static void walk_rsmd_access(struct rsm_codec *c, struct rsmd_access *access)
{
    rsm_codec_u32(c, &access->uid);
    rsm_codec_u32(c, &access->gid);
    rsm_codec_u32(c, &access->mode);
    rsm_codec_count(c, &access->acl_count, RSM_PROTO_ACL_MAX);
    for (uint32_t i = 0; i < access->acl_count; i++) {
        rsm_codec_u32(c, &access->acl[i].node);
        rsm_codec_u32(c, &access->acl[i].permission);
    }
}

static void walk_rsmd_segment_name(struct rsm_codec *c, struct rsmd_segment_name *name)
{
    rsm_codec_count(c, &name->space, RSM_ID_SPACES - 1);
    rsm_codec_u32(c, &name->id);
}

static void walk_mapping_choice(struct rsm_codec *c, struct mapping_choice *choice)
{
    rsm_codec_u32(c, &choice->trap);
    rsm_codec_u32(c, &choice->reason);
}

static void walk_mapping_counts(struct rsm_codec *c, struct mapping_counts *counts)
{
    if (c->version < 2)
        return;
    rsm_codec_u64(c, &counts->unknown);
    rsm_codec_u64(c, &counts->blocked);
    rsm_codec_u64(c, &counts->by_calls);
}

/* An entry of a mailbox is as in a reply, whose format may change. */
static void walk_entry(struct rsm_codec *c, void *record)
{
    struct rsm_mailbox_entry *entry = record;
    rsm_codec_u32(c, &entry->record.event);
    rsm_codec_u32(c, &entry->record.node);
    rsm_codec_u32(c, &entry->record.connection);
    rsm_codec_u32(c, &entry->record.lost);
    rsm_codec_u64(c, &entry->record.order);
    rsm_codec_count(c, &entry->length, sizeof entry->data);
    rsm_codec_bytes(c, entry->data, entry->length);
}

#include "protocol/bodies_walk.h"
#include "node/saved.def"
#include "protocol/bodies_end.h"

#define RECORD(name)                                                                               \
    {                                                                                              \
        walk_rsmd_saved_##name, sizeof(struct rsmd_saved_##name)                                   \
    }
static const struct {
    rsmd_walk *walk;
    size_t size;
} records[] = {
    [RSMD_SAVED_NODE] = RECORD(node),
    [RSMD_SAVED_CLIENT] = RECORD(client),
    [RSMD_SAVED_EXTENT] = RECORD(extent),
    [RSMD_SAVED_EXPORT] = RECORD(export),
    [RSMD_SAVED_INTERRUPT] = RECORD(interrupt),
    [RSMD_SAVED_IMPORT] = RECORD(import),
    [RSMD_SAVED_MAILBOX] = RECORD(mailbox),
    [RSMD_SAVED_ENTRY] = {walk_entry, sizeof(struct rsm_mailbox_entry)},
};

void rsmd_saved_put(struct rsmd_snapshot *snapshot, enum rsmd_record_type type, void *record)
{
    rsmd_snapshot_put(snapshot, type, records[type].walk, record);
}

bool rsmd_saved_get(struct rsmd_snapshot_reader *reader, enum rsmd_record_type type, void *record)
{
    return rsmd_snapshot_next(reader) == type &&
           rsmd_snapshot_get(reader, records[type].walk, record, records[type].size);
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

void rsmd_save_node(struct rsmd_snapshot *snapshot, const struct rsmd_node *node)
{
    struct rsmd_saved_node saved = {.id = node->id,
                                    .last_id = node->last_id,
                                    .last_interrupt = node->last_interrupt,
                                    .topology = node->topology.generation,
                                    .last_record = node->last_record};
    memcpy(saved.next_segment_id, node->next_segment_id, sizeof saved.next_segment_id);
    rsmd_snapshot_section(snapshot);
    rsmd_saved_put(snapshot, RSMD_SAVED_NODE, &saved);
}

bool rsmd_restore_node(struct rsmd_snapshot_reader *reader, struct rsmd_node *node)
{
    struct rsmd_saved_node saved;
    if (!rsmd_saved_get(reader, RSMD_SAVED_NODE, &saved) || !rsmd_snapshot_is_over(reader) ||
        saved.id != node->id)
        return false;
    node->last_id = saved.last_id;
    node->last_interrupt = saved.last_interrupt;
    node->topology.generation = saved.topology + 1;
    node->last_record = saved.last_record;
    memcpy(node->next_segment_id, saved.next_segment_id, sizeof node->next_segment_id);
    return true;
}

/* ------------------------------------------------------------------ events */

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
