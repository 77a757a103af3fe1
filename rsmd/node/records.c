/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/records.h"

#include <stdlib.h>

#include "node/counters.h"
#include "node/exports.h"
#include "node/grants.h"
#include "node/imports.h"
#include "node/saved.h"

struct entry {
    struct rsm_record record;
    struct entry *prev, *next;
};

struct rsmd_records {
    struct rsmd_events events;
    struct entry *entries; /* not yet fetched, oldest first */
    uint32_t count;
    uint32_t unposted;   /* records for which the counter could not be posted yet */
    uint64_t lost;       /* records that found no room; until they are reported no other is kept */
    uint64_t reported;   /* of these, reported to the reader and not acknowledged */
    uint64_t lost_order; /* of the first one */
};

enum rsm_status rsmd_records_begin(struct rsmd_account *account, struct rsmd_records **records)
{
    if (*records != NULL)
        return RSM_ST_OK;
    struct rsmd_records *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    rsmd_events_init(&made->events);
    enum rsm_status status = rsmd_events_need_counter(account, &made->events);
    if (status != RSM_ST_OK) {
        free(made);
        return status;
    }
    *records = made;
    return RSM_ST_OK;
}

static void discard_oldest(struct rsmd_account *account, struct rsmd_records *records)
{
    struct entry *oldest = records->entries;
    DL_DELETE(records->entries, oldest);
    free(oldest);
    records->count--;
    rsmd_share_give(account, RSMD_RECORDS, 1);
}

void rsmd_records_end(struct rsmd_account *account, struct rsmd_records **records)
{
    if (*records == NULL)
        return;
    while ((*records)->entries != NULL)
        discard_oldest(account, *records);
    rsmd_events_close(account, &(*records)->events);
    free(*records);
    *records = NULL;
}

struct rsmd_events *rsmd_records_events(struct rsmd_records *records)
{
    return &records->events;
}

/* ------------------------------------------------------------------ noting */

/* Post to the counter for @p count more records, and for those that it could not be posted for
 * before. */
static void post(struct rsmd_records *records, uint32_t count)
{
    records->unposted += count;
    if (records->unposted > 0 && rsmd_events_post(&records->events, records->unposted, false))
        records->unposted = 0;
}

static void note_lost(struct rsmd_node *node, struct rsmd_records *records)
{
    if (records->lost == 0)
        records->lost_order = ++node->last_record;
    if (records->lost++ == records->reported)
        post(records, 1);
}

static struct entry *make_entry(struct rsmd_account *account)
{
    if (!rsmd_share_take(account, RSMD_RECORDS, 1))
        return NULL;
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        rsmd_share_give(account, RSMD_RECORDS, 1);
    return entry;
}

static void append(struct rsmd_node *node, struct rsmd_account *account,
                   struct rsmd_records *records, struct rsm_record record)
{
    struct entry *entry = NULL;
    if (records->lost == 0 && records->count < RSM_RECORDS_KEPT)
        entry = make_entry(account);
    if (entry == NULL) {
        note_lost(node, records);
        return;
    }
    entry->record = record;
    entry->record.order = ++node->last_record;
    DL_APPEND(records->entries, entry);
    records->count++;
    post(records, 1);
}

void rsmd_record_to_exporter(struct rsmd_node *node, struct rsmd_export *exported,
                             enum rsm_record_event event, const struct rsmd_importer *importer)
{
    const struct rsm_record record = {
        .event = event, .node = importer->who.node, .connection = importer->id};
    const struct rsmd_grant *grant;
    if (importer->attached)
        return;
    if (exported->records != NULL)
        append(node, exported->client->account, exported->records, record);
    DL_FOREACH(exported->attached, grant)
    if (grant->importer->records != NULL)
        append(node, grant->importer->account, grant->importer->records, record);
}

void rsmd_record_to_importer(struct rsmd_node *node, const struct rsmd_importer *importer,
                             enum rsm_record_event event)
{
    if (importer->records != NULL)
        append(node, importer->account, importer->records,
               (struct rsm_record){
                   .event = event, .node = importer->exporter, .connection = importer->id});
}

/* ------------------------------------------------------------------ fetching */

/* The reader has got all records up to this one. */
static void acknowledge(struct rsmd_node *node, struct rsmd_account *account,
                        struct rsmd_records *records, uint64_t after)
{
    while (records->entries != NULL && records->entries->record.order <= after)
        discard_oldest(account, records);
    if (records->reported == 0 || records->lost_order > after)
        return;
    records->lost -= records->reported;
    records->reported = 0;
    if (records->lost > 0)
        records->lost_order = ++node->last_record;
}

static void fill(struct rsmd_records *records, struct rsm_records_reply *reply)
{
    const struct entry *entry;
    DL_FOREACH(records->entries, entry)
    {
        if (reply->count == RSM_PROTO_RECORDS_MAX)
            return;
        reply->records[reply->count++] = entry->record;
    }
    if (records->lost == 0 || reply->count == RSM_PROTO_RECORDS_MAX)
        return;
    records->reported = records->lost;
    reply->records[reply->count++] = (struct rsm_record){
        .event = RSM_RECORD_OVERFLOW,
        .order = records->lost_order,
        .lost = records->lost < UINT32_MAX ? (uint32_t)records->lost : UINT32_MAX};
}

enum rsm_status rsmd_answer_records(struct rsmd_call *call)
{
    const struct rsm_records_request *asked = &call->request->u.records;
    struct rsmd_records *records = NULL;
    struct rsmd_account *account = NULL;
    if (asked->end == RSM_EVENT_EXPORT_RECORDS) {
        struct rsmd_export *exported = rsmd_client_export(call->node, call->client, asked->id);
        records = exported != NULL ? exported->records : NULL;
        account = call->client->account;
    } else if (asked->end == RSM_EVENT_IMPORT_RECORDS) {
        struct rsmd_import *import = rsmd_client_import(call->node, call->client, asked->id);
        records = import != NULL ? import->importer.records : NULL;
        account = import != NULL ? import->importer.account : NULL;
    } else {
        return RSM_ST_INVALID;
    }
    if (records == NULL)
        return RSM_ST_NOT_FOUND;
    acknowledge(call->node, account, records, asked->after);
    fill(records, &call->reply->u.records_reply);
    post(records, 0);
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ handover */

struct saved_records {
    uint32_t unposted;
    uint64_t lost, reported, lost_order;
    struct rsmd_saved_events events;
};

static void walk_records(struct rsm_codec *c, void *record)
{
    struct saved_records *saved = record;
    rsm_codec_u32(c, &saved->unposted);
    rsm_codec_u64(c, &saved->lost);
    rsm_codec_u64(c, &saved->reported);
    rsm_codec_u64(c, &saved->lost_order);
    rsmd_walk_saved_events(c, &saved->events);
}

static void walk_entry(struct rsm_codec *c, void *record)
{
    struct rsm_record *saved = record;
    rsm_codec_u32(c, &saved->event);
    rsm_codec_u32(c, &saved->node);
    rsm_codec_u32(c, &saved->connection);
    rsm_codec_u32(c, &saved->lost);
    rsm_codec_u64(c, &saved->order);
}

void rsmd_save_records(struct rsmd_snapshot *snapshot, const struct rsmd_records *records)
{
    if (records == NULL)
        return;
    struct saved_records saved = {.unposted = records->unposted,
                                  .lost = records->lost,
                                  .reported = records->reported,
                                  .lost_order = records->lost_order,
                                  .events = rsmd_save_events(snapshot, &records->events)};
    struct entry *entry;
    rsmd_snapshot_put(snapshot, RSMD_SAVED_RECORDS, walk_records, &saved);
    DL_FOREACH(records->entries, entry)
    rsmd_snapshot_put(snapshot, RSMD_SAVED_ENTRY, walk_entry, &entry->record);
}

static bool restore_entry(struct rsmd_snapshot_reader *reader, struct rsmd_account *account,
                          struct rsmd_records *records)
{
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL ||
        !rsmd_snapshot_get(reader, walk_entry, &entry->record, sizeof entry->record) ||
        records->count == RSM_RECORDS_KEPT) {
        free(entry);
        return false;
    }
    rsmd_share_charge(account, RSMD_RECORDS, 1);
    DL_APPEND(records->entries, entry);
    records->count++;
    return true;
}

bool rsmd_restore_records(struct rsmd_snapshot_reader *reader, struct rsmd_account *account,
                          struct rsmd_records **records)
{
    struct saved_records saved;
    if (rsmd_snapshot_next(reader) != RSMD_SAVED_RECORDS)
        return !reader->bad;
    struct rsmd_records *made = calloc(1, sizeof *made);
    if (made == NULL || !rsmd_snapshot_get(reader, walk_records, &saved, sizeof saved) ||
        saved.reported > saved.lost) {
        free(made);
        return false;
    }
    *made = (struct rsmd_records){.unposted = saved.unposted,
                                  .lost = saved.lost,
                                  .reported = saved.reported,
                                  .lost_order = saved.lost_order};
    *records = made;
    bool restored = rsmd_restore_events(reader, account, &saved.events, &made->events);
    while (restored && rsmd_snapshot_next(reader) == RSMD_SAVED_ENTRY)
        restored = restore_entry(reader, account, made);
    return restored;
}
