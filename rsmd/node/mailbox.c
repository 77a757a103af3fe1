/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/mailbox.h"

#include <stdlib.h>
#include <string.h>

#include "node/counters.h"
#include "node/saved.h"

struct rsmd_mailbox_entry {
    struct rsmd_mailbox_entry *prev, *next;
    struct rsm_record record;
    uint32_t length;
    uint8_t data[];
};

void rsmd_mailbox_init(struct rsmd_mailbox *mailbox, struct rsmd_account *account)
{
    *mailbox = (struct rsmd_mailbox){.account = account};
    rsmd_events_init(&mailbox->events);
}

static void discard(struct rsmd_mailbox *mailbox, struct rsmd_mailbox_entry *entry)
{
    DL_DELETE(mailbox->entries, entry);
    free(entry);
    mailbox->count--;
    rsmd_share_give(mailbox->account, RSMD_RECORDS, 1);
}

void rsmd_mailbox_end(struct rsmd_mailbox *mailbox)
{
    while (mailbox->entries != NULL)
        discard(mailbox, mailbox->entries);
    rsmd_events_close(mailbox->account, &mailbox->events);
}

/* ------------------------------------------------------------------ adding */

/* Add an entry that is charged for already. */
static bool add(struct rsmd_mailbox *mailbox, const struct rsm_record *record, const void *data,
                uint32_t length)
{
    struct rsmd_mailbox_entry *entry = malloc(sizeof *entry + length);
    if (entry == NULL)
        return false;
    entry->record = *record;
    entry->length = length;
    if (length > 0)
        memcpy(entry->data, data, length);
    DL_APPEND(mailbox->entries, entry);
    mailbox->count++;
    return true;
}

enum rsm_status rsmd_mailbox_append(struct rsmd_node *node, struct rsmd_mailbox *mailbox,
                                    const struct rsm_record *record, const void *data,
                                    uint32_t length)
{
    struct rsm_record next = *record;
    if (mailbox->lost > 0 || mailbox->count >= RSM_MAILBOX_MAX ||
        !rsmd_share_take(mailbox->account, RSMD_RECORDS, 1))
        return RSM_ST_NO_RESOURCES;
    next.order = ++node->last_record;
    if (add(mailbox, &next, data, length))
        return RSM_ST_OK;
    rsmd_share_give(mailbox->account, RSMD_RECORDS, 1);
    return RSM_ST_NO_MEMORY;
}

void rsmd_mailbox_retract(struct rsmd_mailbox *mailbox)
{
    discard(mailbox, mailbox->entries->prev);
}

/* Post to the counter for @p count more entries, and for those that it could not be posted for
 * before. */
static void post(struct rsmd_mailbox *mailbox, uint32_t count)
{
    mailbox->unposted += count;
    if (mailbox->unposted > 0 && rsmd_events_post(&mailbox->events, mailbox->unposted, false))
        mailbox->unposted = 0;
}

void rsmd_mailbox_note(struct rsmd_node *node, struct rsmd_mailbox *mailbox,
                       const struct rsm_record *record)
{
    if (rsmd_mailbox_append(node, mailbox, record, NULL, 0) == RSM_ST_OK) {
        post(mailbox, 1);
        return;
    }
    if (mailbox->lost == 0)
        mailbox->lost_order = ++node->last_record;
    if (mailbox->lost++ == mailbox->reported)
        post(mailbox, 1);
}

/* ------------------------------------------------------------------ fetching */

/* The client has got all entries up to this one. */
static void acknowledge(struct rsmd_node *node, struct rsmd_mailbox *mailbox, uint64_t after)
{
    while (mailbox->entries != NULL && mailbox->entries->record.order <= after)
        discard(mailbox, mailbox->entries);
    if (mailbox->reported == 0 || mailbox->lost_order > after)
        return;
    mailbox->lost -= mailbox->reported;
    mailbox->reported = 0;
    if (mailbox->lost > 0)
        mailbox->lost_order = ++node->last_record;
}

static void copy_out(const struct rsmd_mailbox_entry *entry, struct rsm_mailbox_entry *to)
{
    to->record = entry->record;
    to->length = entry->length;
    memcpy(to->data, entry->data, entry->length);
}

void rsmd_mailbox_take(struct rsmd_node *node, struct rsmd_mailbox *mailbox, uint64_t after,
                       struct rsm_mailbox_take_reply *reply)
{
    acknowledge(node, mailbox, after);
    const struct rsmd_mailbox_entry *entry = mailbox->entries;
    for (; entry != NULL && reply->count < RSM_PROTO_ENTRIES_MAX; entry = entry->next)
        copy_out(entry, &reply->entries[reply->count++]);
    if (mailbox->lost > 0 && reply->count < RSM_PROTO_ENTRIES_MAX) {
        mailbox->reported = mailbox->lost;
        struct rsm_mailbox_entry *to = &reply->entries[reply->count++];
        to->length = 0;
        to->record = (struct rsm_record){
            .event = RSM_RECORD_OVERFLOW,
            .order = mailbox->lost_order,
            .lost = mailbox->lost < UINT32_MAX ? (uint32_t)mailbox->lost : UINT32_MAX};
    }
    post(mailbox, 0);
}

/* ------------------------------------------------------------------ handover */

void rsmd_save_mailbox(struct rsmd_snapshot *snapshot, const struct rsmd_mailbox *mailbox)
{
    if (mailbox == NULL)
        return;
    struct rsmd_saved_mailbox saved = {.unposted = mailbox->unposted,
                                       .lost = mailbox->lost,
                                       .reported = mailbox->reported,
                                       .lost_order = mailbox->lost_order,
                                       .events = rsmd_save_events(snapshot, &mailbox->events)};
    struct rsm_mailbox_entry saved_entry;
    const struct rsmd_mailbox_entry *entry;
    rsmd_saved_put(snapshot, RSMD_SAVED_MAILBOX, &saved);
    DL_FOREACH(mailbox->entries, entry)
    {
        copy_out(entry, &saved_entry);
        rsmd_saved_put(snapshot, RSMD_SAVED_ENTRY, &saved_entry);
    }
}

static bool restore_entry(struct rsmd_snapshot_reader *reader, struct rsmd_mailbox *mailbox)
{
    struct rsm_mailbox_entry saved;
    if (!rsmd_saved_get(reader, RSMD_SAVED_ENTRY, &saved) || mailbox->count >= RSM_MAILBOX_MAX ||
        !add(mailbox, &saved.record, saved.data, saved.length))
        return false;
    rsmd_share_charge(mailbox->account, RSMD_RECORDS, 1);
    return true;
}

bool rsmd_restore_mailbox(struct rsmd_snapshot_reader *reader, struct rsmd_mailbox *mailbox)
{
    struct rsmd_saved_mailbox saved;
    if (!rsmd_saved_get(reader, RSMD_SAVED_MAILBOX, &saved) || saved.reported > saved.lost)
        return false;
    mailbox->unposted = saved.unposted;
    mailbox->lost = saved.lost;
    mailbox->reported = saved.reported;
    mailbox->lost_order = saved.lost_order;
    bool restored = rsmd_restore_events(reader, mailbox->account, &saved.events, &mailbox->events);
    while (restored && rsmd_snapshot_next(reader) == RSMD_SAVED_ENTRY)
        restored = restore_entry(reader, mailbox);
    return restored;
}
