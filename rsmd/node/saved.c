/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/saved.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sealed.h"
#include "node/controllers.h"
#include "node/events.h"
#include "node/extents.h"
#include "node/records.h"
#include "node/registry.h"

static void walk_name(struct rsm_codec *c, char name[RSM_PROTO_NAME_MAX])
{
    rsm_codec_string(c, name, RSM_PROTO_NAME_MAX);
}

/* The controller of that name, if its transport takes part. */
static struct rsmd_controller *find_controller(const struct rsmd_node *node, const char *name)
{
    struct rsmd_controller *controller = rsmd_controller_named(node, name);
    return controller != NULL && controller->ops->extent_take != NULL ? controller : NULL;
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
    rsmd_snapshot_put(snapshot, RSMD_SAVED_NODE, walk_node, &saved);
}

bool rsmd_restore_node(struct rsmd_snapshot_reader *reader, struct rsmd_node *node)
{
    struct saved_node saved;
    if (rsmd_snapshot_next(reader) != RSMD_SAVED_NODE ||
        !rsmd_snapshot_get(reader, walk_node, &saved, sizeof saved) || saved.id != node->id)
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
    rsm_codec_u32(c, &saved->pipe);
    rsm_codec_count(c, &saved->missed, 1);
}

struct rsmd_saved_events rsmd_save_events(struct rsmd_snapshot *snapshot,
                                          const struct rsmd_events *events)
{
    return (struct rsmd_saved_events){.counter = rsmd_snapshot_fd(snapshot, events->counter),
                                      .pipe = rsmd_snapshot_fd(snapshot, events->pipe),
                                      .missed = events->missed};
}

bool rsmd_restore_events(struct rsmd_snapshot_reader *reader, struct rsmd_account *account,
                         const struct rsmd_saved_events *saved, struct rsmd_events *events)
{
    rsmd_events_init(events);
    events->counter = rsmd_snapshot_take(reader, saved->counter);
    events->pipe = rsmd_snapshot_take(reader, saved->pipe);
    events->missed = saved->missed != 0;
    rsmd_share_charge(account, RSMD_DESCRIPTORS,
                      (uint64_t)(events->counter >= 0) + (uint64_t)(events->pipe >= 0));
    return !reader->bad && (events->counter < 0 || rsm_is_sealed_memory(events->counter, 1));
}

/* ------------------------------------------------------------------ pieces */

struct saved_pieces {
    uint32_t count;
    struct {
        uint32_t extent;
        uint64_t offset, length;
    } piece[RSM_PROTO_PIECES_MAX];
};

static void walk_pieces(struct rsm_codec *c, struct saved_pieces *saved)
{
    rsm_codec_count(c, &saved->count, RSM_PROTO_PIECES_MAX);
    for (uint32_t i = 0; i < saved->count; i++) {
        rsm_codec_u32(c, &saved->piece[i].extent);
        rsm_codec_u64(c, &saved->piece[i].offset);
        rsm_codec_u64(c, &saved->piece[i].length);
    }
}

static void save_pieces(struct saved_pieces *saved, const struct rsmd_pieces *pieces)
{
    saved->count = pieces != NULL ? pieces->count : 0;
    for (uint32_t i = 0; i < saved->count; i++) {
        saved->piece[i].extent = pieces->piece[i].extent->id;
        saved->piece[i].offset = pieces->piece[i].offset;
        saved->piece[i].length = pieces->piece[i].length;
    }
}

/* The list, of extents of the client. NULL: impossible, or no memory. */
static struct rsmd_pieces *restore_pieces(const struct rsmd_node *node,
                                          const struct rsmd_client *client,
                                          const struct saved_pieces *saved)
{
    struct rsmd_pieces *pieces = saved->count > 0 ? rsmd_pieces_make(saved->count) : NULL;
    for (uint32_t i = 0; pieces != NULL && i < saved->count; i++) {
        uint32_t id = saved->piece[i].extent;
        uint64_t offset = saved->piece[i].offset, length = saved->piece[i].length;
        struct rsmd_extent *extent;
        HASH_FIND_INT(node->extents, &id, extent);
        if (extent == NULL || extent->client != client || length == 0 || offset > extent->length ||
            length > extent->length - offset) {
            rsmd_pieces_drop(pieces);
            return NULL;
        }
        rsmd_pieces_add(pieces, extent, offset, length);
    }
    return pieces;
}

/* ------------------------------------------------------------------ extents */

struct saved_extent {
    uint32_t id, fd, adopted, offered, given_back;
    uint64_t length, memory;
    char controller[RSM_PROTO_NAME_MAX];
};

static void walk_extent(struct rsm_codec *c, void *record)
{
    struct saved_extent *saved = record;
    rsm_codec_u32(c, &saved->id);
    rsm_codec_u32(c, &saved->fd);
    rsm_codec_count(c, &saved->adopted, 1);
    rsm_codec_count(c, &saved->offered, 1);
    rsm_codec_count(c, &saved->given_back, 1);
    rsm_codec_u64(c, &saved->length);
    rsm_codec_u64(c, &saved->memory);
    walk_name(c, saved->controller);
}

static void save_extent(struct rsmd_snapshot *snapshot, const struct rsmd_extent *extent)
{
    struct saved_extent saved = {.id = extent->id,
                                 .fd = rsmd_snapshot_fd(snapshot, extent->memory->fd),
                                 .adopted = extent->adopted != NULL,
                                 .offered = extent->offered,
                                 .given_back = extent->given_back,
                                 .length = extent->length,
                                 .memory = extent->memory->length};
    memcpy(saved.controller, extent->controller->name, sizeof saved.controller);
    rsmd_snapshot_put(snapshot, RSMD_SAVED_EXTENT, walk_extent, &saved);
}

/* What extents.c charges for one. */
static void charge_extent(struct rsmd_extent *extent)
{
    struct rsmd_account *account = extent->client->account;
    extent->pinned = rsmd_extent_pinned(extent);
    rsmd_share_charge(account, RSMD_BYTES, extent->length);
    rsmd_share_charge(account, RSMD_PINNED, extent->pinned);
    rsmd_share_charge(account, RSMD_DESCRIPTORS, extent->adopted != NULL ? 2 : 1);
}

/* Let the transports have the memory. The descriptor is theirs, or closed. */
static bool take_memory(struct rsmd_extent *extent, const struct saved_extent *saved, int fd)
{
    const struct rsmd_controller *controller = extent->controller;
    const struct rsmd_controller *loopback = rsmd_controller_loopback(extent->node);
    if (fd < 0)
        return false;
    if (controller->ops->extent_take(controller->port, fd, saved->memory, &extent->memory) !=
        RSM_ST_OK) {
        close(fd);
        return false;
    }
    if (!saved->adopted || loopback->ops->extent_adopt(loopback->port, fd, extent->length,
                                                       &extent->adopted) == RSM_ST_OK)
        return true;
    controller->ops->extent_free(controller->port, extent->memory);
    return false;
}

static bool restore_extent(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                           struct rsmd_client *client, bool *lost)
{
    struct saved_extent saved;
    if (!rsmd_snapshot_get(reader, walk_extent, &saved, sizeof saved) || saved.length == 0 ||
        saved.length > saved.memory || rsmd_id_in_use(node, saved.id))
        return false;
    struct rsmd_controller *controller = find_controller(node, saved.controller);
    if (controller == NULL) {
        *lost = true;
        return true;
    }
    struct rsmd_extent *extent = calloc(1, sizeof *extent);
    if (extent == NULL)
        return false;
    *extent = (struct rsmd_extent){.node = node,
                                   .id = saved.id,
                                   .client = client,
                                   .controller = controller,
                                   .length = saved.length,
                                   .offered = saved.offered != 0,
                                   .given_back = saved.given_back != 0};
    if (!take_memory(extent, &saved, rsmd_snapshot_take(reader, saved.fd))) {
        free(extent);
        return false;
    }
    HASH_ADD_INT(node->extents, id, extent);
    if (extent->hh.tbl == NULL) {
        controller->ops->extent_free(controller->port, extent->memory);
        free(extent);
        return false;
    }
    charge_extent(extent);
    DL_APPEND(client->extents, extent);
    return true;
}

/* ------------------------------------------------------------------ exports */

struct saved_export {
    uint32_t id, creator, slot, published, claimed, shared, offered, ended, named;
    uint64_t length, size;
    char controller[RSM_PROTO_NAME_MAX];
    struct rsmd_access access;
    uint8_t state[RSM_PROTO_UNITS_MAX];
    struct rsmd_segment_name name;
    struct saved_pieces pieces;
    struct rsmd_saved_events events;
};

static void walk_access(struct rsm_codec *c, struct rsmd_access *access)
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

static void walk_export(struct rsm_codec *c, void *record)
{
    struct saved_export *saved = record;
    rsm_codec_u32(c, &saved->id);
    rsm_codec_u32(c, &saved->creator);
    rsm_codec_u32(c, &saved->slot);
    rsm_codec_count(c, &saved->published, 1);
    rsm_codec_count(c, &saved->claimed, 1);
    rsm_codec_count(c, &saved->shared, 1);
    rsm_codec_count(c, &saved->offered, 1);
    rsm_codec_count(c, &saved->ended, 1);
    rsm_codec_count(c, &saved->named, 1);
    rsm_codec_u64(c, &saved->length);
    rsm_codec_u64(c, &saved->size);
    walk_name(c, saved->controller);
    walk_access(c, &saved->access);
    rsm_codec_bytes(c, saved->state, sizeof saved->state);
    rsm_codec_count(c, &saved->name.space, RSM_ID_SPACES - 1);
    rsm_codec_u32(c, &saved->name.id);
    walk_pieces(c, &saved->pieces);
    rsmd_walk_saved_events(c, &saved->events);
}

static void save_export(struct rsmd_snapshot *snapshot, const struct rsmd_export *exported)
{
    struct saved_export saved = {.id = exported->id,
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
    save_pieces(&saved.pieces, exported->pieces);
    rsmd_snapshot_put(snapshot, RSMD_SAVED_EXPORT, walk_export, &saved);
    rsmd_save_records(snapshot, exported->records);
}

static bool is_possible_export(const struct rsmd_node *node, const struct saved_export *saved)
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

/* Its name, and where it lives if it is published: both or neither. */
static bool restore_name(struct rsmd_node *node, struct rsmd_export *exported,
                         const struct saved_export *saved)
{
    if (!saved->named)
        return true;
    if (saved->published) {
        exported->pieces = restore_pieces(node, exported->client, &saved->pieces);
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
                        struct rsmd_client *client, const struct saved_export *saved,
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
        free(exported);
        return false;
    }
    rsmd_share_charge(client->account, RSMD_SEGMENTS, 1);
    DL_APPEND(client->exports, exported);
    rsmd_slotmap_set(node->exports_by_slot, exported->epoch_slot, exported);
    return rsmd_restore_events(reader, client->account, &saved->events, &exported->events) &&
           restore_name(node, exported, saved);
}

/* It cannot go on: whoever watches its slot sees that it has ended. */
static bool give_slot_up(struct rsmd_node *node, uint32_t slot)
{
    if (!rsmd_generation_table_claim(node->generation_table, slot))
        return false;
    rsmd_generation_table_release(node->generation_table, slot);
    return true;
}

static bool restore_export(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                           struct rsmd_client *client, bool *lost)
{
    struct saved_export saved;
    if (!rsmd_snapshot_get(reader, walk_export, &saved, sizeof saved) ||
        !is_possible_export(node, &saved))
        return false;
    struct rsmd_controller *controller = find_controller(node, saved.controller);
    struct rsmd_records *none = NULL;
    *lost |= controller == NULL;
    if (*lost) {
        bool read =
            give_slot_up(node, saved.slot) && rsmd_restore_records(reader, client->account, &none);
        rsmd_records_end(client->account, &none);
        return read;
    }
    if (!make_export(reader, node, client, &saved, controller))
        return false;
    return rsmd_restore_records(reader, client->account, &client->exports->prev->records);
}

/* ------------------------------------------------------------------ imports */

struct saved_import {
    uint32_t client, id, exported, rights, slot, attached, leaves, disconnected, exporter;
    uint32_t same_pieces; /* as the export has now */
    char controller[RSM_PROTO_NAME_MAX];
    char by[RSM_PROTO_NAME_MAX];
    struct {
        uint32_t node, uid, gid, pid;
    } importer;
    struct softmap_choice choice;
    struct saved_pieces pieces;
    struct rsmd_saved_events events;
};

static void walk_import(struct rsm_codec *c, void *record)
{
    struct saved_import *saved = record;
    rsm_codec_u32(c, &saved->client);
    rsm_codec_u32(c, &saved->id);
    rsm_codec_u32(c, &saved->exported);
    rsm_codec_u32(c, &saved->rights);
    rsm_codec_u32(c, &saved->slot);
    rsm_codec_count(c, &saved->attached, 1);
    rsm_codec_count(c, &saved->leaves, 1);
    rsm_codec_count(c, &saved->disconnected, 1);
    rsm_codec_u32(c, &saved->exporter);
    rsm_codec_count(c, &saved->same_pieces, 1);
    walk_name(c, saved->controller);
    walk_name(c, saved->by);
    rsm_codec_u32(c, &saved->importer.node);
    rsm_codec_u32(c, &saved->importer.uid);
    rsm_codec_u32(c, &saved->importer.gid);
    rsm_codec_u32(c, &saved->importer.pid);
    rsm_codec_u32(c, &saved->choice.trap);
    rsm_codec_u32(c, &saved->choice.reason);
    walk_pieces(c, &saved->pieces);
    rsmd_walk_saved_events(c, &saved->events);
}

static void save_import(struct rsmd_snapshot *snapshot, const struct rsmd_import *import,
                        uint32_t number)
{
    const struct rsmd_export *exported = import->exported;
    struct saved_import saved = {.client = number,
                                 .id = import->id,
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
            save_pieces(&saved.pieces, import->pieces);
    }
    rsmd_snapshot_put(snapshot, RSMD_SAVED_IMPORT, walk_import, &saved);
    rsmd_save_records(snapshot, import->records);
}

void rsmd_save_imports(struct rsmd_snapshot *snapshot, const struct rsmd_client *client,
                       uint32_t number)
{
    const struct rsmd_import *import;
    DL_FOREACH(client->imports, import)
    save_import(snapshot, import, number);
}

/* Connect it with its export again. False: that is impossible, or there is no memory; then it is
 * not connected. */
static bool reconnect(struct rsmd_node *node, struct rsmd_import *import,
                      const struct saved_import *saved, struct rsmd_export *exported,
                      struct rsmd_controller *by)
{
    struct rsm_extent_piece pieces[RSM_PROTO_PIECES_MAX];
    struct rsmd_pieces *list = !saved->same_pieces
                                   ? restore_pieces(node, exported->client, &saved->pieces)
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
        rsmd_account_drop(import->account);
        free(import);
        return NULL;
    }
    rsmd_share_charge(import->account, RSMD_SEGMENTS, 1);
    DL_APPEND(client->imports, import);
    rsmd_slotmap_set(node->imports_by_slot, import->slot, import);
    return import;
}

static bool restore_import(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                           struct rsmd_client *client, const struct saved_import *saved, bool *lost)
{
    struct rsmd_controller *controller = find_controller(node, saved->controller);
    struct rsmd_controller *by = find_controller(node, saved->by);
    struct rsmd_export *exported = NULL;
    struct rsmd_records *none = NULL;
    if (controller == NULL) {
        *lost = true;
        bool read =
            give_slot_up(node, saved->slot) && rsmd_restore_records(reader, client->account, &none);
        rsmd_records_end(client->account, &none);
        return read;
    }
    struct rsmd_import *import = make_import(node, client, saved, controller);
    if (import == NULL ||
        !rsmd_restore_events(reader, import->account, &saved->events, &import->events) ||
        !rsmd_restore_records(reader, import->account, &import->records))
        return false;
    if (saved->exported == 0)
        return true;
    HASH_FIND_INT(node->exports, &saved->exported, exported);
    if (exported != NULL && by != NULL)
        return reconnect(node, import, saved, exported, by);
    /* Its segment has ended with the controller: it learns that as ever. */
    rsmd_generation_table_advance(node->generation_table, import->slot);
    rsmd_record_to_importer(node, import, RSM_RECORD_LOST);
    return true;
}

bool rsmd_restore_imports(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                          struct rsmd_client *(*client_of)(void *context, uint32_t number),
                          void (*lose)(void *context, uint32_t number), void *context)
{
    struct saved_import saved;
    while (rsmd_snapshot_next(reader) == RSMD_SAVED_IMPORT) {
        bool lost = false;
        if (!rsmd_snapshot_get(reader, walk_import, &saved, sizeof saved) ||
            rsmd_id_in_use(node, saved.id) || !rsmcore_map_choice_is_valid(&saved.choice))
            return false;
        struct rsmd_client *client = client_of(context, saved.client);
        if (client == NULL || !restore_import(reader, node, client, &saved, &lost))
            return false;
        if (lost)
            lose(context, saved.client);
    }
    return !reader->bad;
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
    if (!takes_part(import->controller) || (import->exported != NULL && !takes_part(import->by)))
        return false;
    return client->jobs == 0 && client->forward_count == 0;
}

void rsmd_save_client(struct rsmd_snapshot *snapshot, const struct rsmd_client *client)
{
    const struct rsmd_extent *extent;
    const struct rsmd_export *exported;
    DL_FOREACH(client->extents, extent)
    save_extent(snapshot, extent);
    DL_FOREACH(client->exports, exported)
    save_export(snapshot, exported);
    rsmd_save_interrupts(snapshot, client);
}

bool rsmd_restore_client(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                         struct rsmd_client *client, bool *lost)
{
    for (;;) {
        bool restored;
        switch (rsmd_snapshot_next(reader)) {
        case RSMD_SAVED_EXTENT:
            restored = restore_extent(reader, node, client, lost);
            break;
        case RSMD_SAVED_EXPORT:
            restored = restore_export(reader, node, client, lost);
            break;
        case RSMD_SAVED_INTERRUPT:
            restored = rsmd_restore_interrupt(reader, node, client);
            break;
        default:
            return !reader->bad;
        }
        if (!restored)
            return false;
    }
}
