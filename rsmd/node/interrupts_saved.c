/* SPDX-License-Identifier: BSD-3-Clause */
/* Interrupts in a snapshot. */
#include <stdlib.h>
#include <string.h>

#include "node/counters.h"
#include "node/interrupt_state.h"
#include "node/saved.h"

struct saved_interrupt {
    uint32_t id, kind, number, creator, uid, gid, mode, shared, direct, group;
    uint64_t last_order;
    struct rsmd_saved_events events;
};

static void walk_interrupt(struct rsm_codec *c, void *record)
{
    struct saved_interrupt *saved = record;
    rsm_codec_u32(c, &saved->id);
    rsm_codec_u32(c, &saved->kind);
    rsm_codec_u32(c, &saved->number);
    rsm_codec_u32(c, &saved->creator);
    rsm_codec_u32(c, &saved->uid);
    rsm_codec_u32(c, &saved->gid);
    rsm_codec_u32(c, &saved->mode);
    rsm_codec_count(c, &saved->shared, 1);
    rsm_codec_count(c, &saved->direct, 1);
    rsm_codec_u32(c, &saved->group);
    rsm_codec_u64(c, &saved->last_order);
    rsmd_walk_saved_events(c, &saved->events);
}

struct saved_message {
    uint64_t order;
    uint32_t node, length;
    uint8_t data[RSM_INTERRUPT_DATA_MAX];
};

static void walk_message(struct rsm_codec *c, void *record)
{
    struct saved_message *saved = record;
    rsm_codec_u64(c, &saved->order);
    rsm_codec_u32(c, &saved->node);
    rsm_codec_count(c, &saved->length, sizeof saved->data);
    rsm_codec_bytes(c, saved->data, saved->length);
}

static void save_message(struct rsmd_snapshot *snapshot, const struct rsmd_message *message)
{
    struct saved_message saved = {
        .order = message->order, .node = message->node, .length = message->length};
    memcpy(saved.data, message->data, message->length);
    rsmd_snapshot_put(snapshot, RSMD_SAVED_MESSAGE, walk_message, &saved);
}

void rsmd_save_interrupts(struct rsmd_snapshot *snapshot, const struct rsmd_client *client)
{
    const struct rsmd_interrupt *interrupt;
    const struct rsmd_message *message;
    DL_FOREACH(client->interrupts, interrupt)
    {
        struct saved_interrupt saved = {.id = interrupt->id,
                                        .kind = interrupt->key.kind,
                                        .number = interrupt->key.number,
                                        .creator = (uint32_t)interrupt->creator,
                                        .uid = interrupt->access.uid,
                                        .gid = interrupt->access.gid,
                                        .mode = interrupt->access.mode,
                                        .shared = interrupt->shared,
                                        .direct = interrupt->direct,
                                        .group = interrupt->group,
                                        .last_order = interrupt->last_order,
                                        .events = rsmd_save_events(snapshot, &interrupt->events)};
        rsmd_snapshot_put(snapshot, RSMD_SAVED_INTERRUPT, walk_interrupt, &saved);
        DL_FOREACH(interrupt->messages, message)
        save_message(snapshot, message);
    }
}

static bool restore_message(struct rsmd_snapshot_reader *reader, struct rsmd_interrupt *interrupt)
{
    struct saved_message saved;
    if (!rsmd_snapshot_get(reader, walk_message, &saved, sizeof saved) ||
        interrupt->message_count == RSM_INTERRUPT_QUEUE_MAX)
        return false;
    struct rsmd_message *message = calloc(1, sizeof *message + saved.length);
    if (message == NULL)
        return false;
    message->order = saved.order;
    message->node = saved.node;
    message->length = saved.length;
    memcpy(message->data, saved.data, saved.length);
    rsmd_share_charge(interrupt->client->account, RSMD_RECORDS, 1);
    DL_APPEND(interrupt->messages, message);
    interrupt->message_count++;
    return true;
}

/* Find one that has the number already. */
static struct rsmd_interrupt *find_sharer(const struct rsmd_node *node,
                                          const struct rsmd_interrupt_key *key)
{
    struct rsmd_interrupt *interrupt;
    HASH_FIND(hh_key, node->interrupts_by_number, key, sizeof *key, interrupt);
    return interrupt;
}

static struct rsmd_interrupt *make_interrupt(struct rsmd_node *node, struct rsmd_client *client,
                                             const struct saved_interrupt *saved)
{
    struct rsmd_interrupt *interrupt = calloc(1, sizeof *interrupt);
    if (interrupt == NULL)
        return NULL;
    *interrupt = (struct rsmd_interrupt){
        .id = saved->id,
        .key = {.kind = saved->kind, .number = saved->number},
        .client = client,
        .creator = (pid_t)saved->creator,
        .access = {.uid = saved->uid, .gid = saved->gid, .mode = saved->mode},
        .shared = saved->shared != 0,
        .group = saved->group,
        .last_order = saved->last_order};
    rsmd_events_init(&interrupt->events);
    struct rsmd_interrupt *holder = find_sharer(node, &interrupt->key);
    if (!rsmd_interrupt_enter(node, interrupt)) {
        free(interrupt);
        return NULL;
    }
    interrupt->next_sharer = interrupt->previous_sharer = interrupt;
    if (holder != NULL)
        rsmd_interrupt_share(interrupt, holder);
    rsmd_share_charge(client->account, RSMD_INTERRUPTS, 1);
    DL_APPEND(client->interrupts, interrupt);
    return interrupt;
}

/* Other processes have its counter. If rsmd could not stop their posts later, it stops them at
 * once. */
static bool take_direct(struct rsmd_interrupt *interrupt)
{
    if (interrupt->events.counter < 0)
        return false;
    interrupt->direct = rsmd_events_set_direct(&interrupt->events, true);
    return interrupt->direct || rsmd_events_set_direct(&interrupt->events, false);
}

bool rsmd_restore_interrupt(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                            struct rsmd_client *client)
{
    struct saved_interrupt saved;
    if (!rsmd_snapshot_get(reader, walk_interrupt, &saved, sizeof saved) ||
        rsmd_id_in_use(node, saved.id))
        return false;
    struct rsmd_interrupt *interrupt = make_interrupt(node, client, &saved);
    if (interrupt == NULL ||
        !rsmd_restore_events(reader, client->account, &saved.events, &interrupt->events))
        return false;
    if (saved.direct != 0 && !take_direct(interrupt))
        return false;
    while (rsmd_snapshot_next(reader) == RSMD_SAVED_MESSAGE)
        if (!restore_message(reader, interrupt))
            return false;
    return !reader->bad;
}
