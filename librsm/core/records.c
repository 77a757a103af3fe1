/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/records.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/event_internal.h"
#include "core/records_make.h"

enum {
    AHEAD_MAX = 1024, /* records fetched and not yet taken, beyond which rsmd keeps the rest */
};

/* The counter has one event for each record that can be taken, be it here or in rsmd. A wait that
 * consumes an event takes a record. */
struct rsmcore_records {
    struct rsmcore_event *event;
    struct rsmcore_control *control; /* held by the event */
    enum rsm_event_end end;
    uint32_t id;
    struct rsmcore_import *import; /* NULL: of an export */
    pthread_mutex_t lock;          /* guards what follows */
    struct rsm_record *ahead;      /* fetched, oldest first */
    uint32_t first, count, room;
    uint64_t after; /* order of the last one fetched */
    /* an overflow was reported: a LOST may be among the records it stands for */
    bool lost_records;
    bool loss_reported; /* the importer has got its LOST */
};

/* ---------------------------------------------------------------- making */

enum rsm_status rsmcore_records_make(struct rsmcore_control *control, enum rsm_event_end end,
                                     uint32_t id, struct rsmcore_import *import,
                                     struct rsmcore_records **records)
{
    struct rsmcore_records *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = rsmcore_event_create(control, end, id, &made->event);
    if (status != RSM_ST_OK) {
        free(made);
        return status;
    }
    made->control = control;
    made->end = end;
    made->id = id;
    made->import = import;
    pthread_mutex_init(&made->lock, NULL);
    status = rsmcore_event_open(made->event);
    if (status != RSM_ST_OK) {
        rsmcore_records_destroy(made);
        return status;
    }
    *records = made;
    return RSM_ST_OK;
}

enum rsm_status rsmcore_records_of_import(struct rsmcore_import *import,
                                          struct rsmcore_records **records)
{
    if (import->process_epoch != rsmcore_process_epoch())
        return RSM_ST_STALE;
    return rsmcore_records_make(import->control, RSM_EVENT_IMPORT_RECORDS, import->id, import,
                                records);
}

void rsmcore_records_destroy(struct rsmcore_records *records)
{
    rsmcore_event_destroy(records->event);
    pthread_mutex_destroy(&records->lock);
    free(records->ahead);
    free(records);
}

/* ---------------------------------------------------------------- fetching */

/* Room for so many more. */
static bool make_room(struct rsmcore_records *records, uint32_t more)
{
    if (records->first > 0)
        memmove(records->ahead, records->ahead + records->first,
                (records->count - records->first) * sizeof *records->ahead);
    records->count -= records->first;
    records->first = 0;
    if (records->room - records->count >= more)
        return true;
    struct rsm_record *grown =
        realloc(records->ahead, (records->count + more) * sizeof *records->ahead);
    if (grown == NULL)
        return false;
    records->ahead = grown;
    records->room = records->count + more;
    return true;
}

static bool is_known(const struct rsm_record *record)
{
    return record->event >= RSM_RECORD_CONNECTED && record->event <= RSM_RECORD_OVERFLOW;
}

/* Fetch all records, and acknowledge them to rsmd. Called with the lock held.
 */
static enum rsm_status fetch(struct rsmcore_records *records)
{
    struct rsm_msg msg;
    const struct rsm_records_reply *page = &msg.u.records_reply;
    do {
        if (!make_room(records, RSM_PROTO_RECORDS_MAX))
            return RSM_ST_NO_MEMORY;
        rsm_msg_begin(&msg, RSM_MSG_RECORDS);
        msg.u.records = (struct rsm_records_request){
            .end = records->end, .id = records->id, .after = records->after};
        enum rsm_status status = rsmcore_control_call(records->control, &msg, NULL);
        if (status != RSM_ST_OK)
            return status;
        for (uint32_t i = 0; i < page->count; i++) {
            if (!is_known(&page->records[i]) || page->records[i].order <= records->after)
                return RSM_ST_PROTOCOL;
            records->after = page->records[i].order;
            records->ahead[records->count++] = page->records[i];
        }
    } while (page->count > 0 && records->count < AHEAD_MAX);
    return RSM_ST_OK;
}

/* RSM_ST_TIMEOUT: there is none. Called with the lock held. */
static enum rsm_status take(struct rsmcore_records *records, struct rsm_record *record)
{
    enum rsm_status status = RSM_ST_OK;
    if (records->first == records->count)
        status = fetch(records);
    /* What was fetched before a failure counts. */
    if (records->first == records->count)
        return status == RSM_ST_OK ? RSM_ST_TIMEOUT : status;
    *record = records->ahead[records->first++];
    records->lost_records |= record->event == RSM_RECORD_OVERFLOW;
    return RSM_ST_OK;
}

/* The connection has gone, and no record of rsmd's says so any more. */
static bool take_loss(struct rsmcore_records *records, struct rsm_record *record)
{
    if (records->import == NULL || records->loss_reported)
        return false;
    *record = (struct rsm_record){.event = RSM_RECORD_LOST, .order = records->after + 1};
    records->loss_reported = true;
    return true;
}

/* An importer gets its LOST once. */
static bool is_repeated(struct rsmcore_records *records, const struct rsm_record *record)
{
    /* An attached process gets records of other connections, too. */
    if (records->import == NULL || record->event != RSM_RECORD_LOST ||
        record->connection != records->import->id)
        return false;
    bool repeated = records->loss_reported;
    records->loss_reported = true;
    return repeated;
}

/* Take the record of an event that was consumed from the counter. RSM_ST_TIMEOUT: it has been
 * delivered already. */
static enum rsm_status take_counted(struct rsmcore_records *records, struct rsm_record *record)
{
    pthread_mutex_lock(&records->lock);
    enum rsm_status status = take(records, record);
    if (status == RSM_ST_OK && is_repeated(records, record))
        status = RSM_ST_TIMEOUT;
    else if (status != RSM_ST_OK && status != RSM_ST_TIMEOUT)
        rsmcore_event_raise(records->event, 1, false); /* for the next who tries */
    pthread_mutex_unlock(&records->lock);
    return status;
}

/* Whether to report the loss without a record: the daemon has died, or the record was dropped. */
static bool take_uncounted(struct rsmcore_records *records, bool daemon_died,
                           struct rsm_record *record)
{
    pthread_mutex_lock(&records->lock);
    bool none_left = records->first == records->count;
    bool cut = daemon_died || (records->lost_records && records->import != NULL &&
                               rsmcore_import_aborted(records->import));
    bool taken = none_left && cut && take_loss(records, record);
    pthread_mutex_unlock(&records->lock);
    return taken;
}

/* ---------------------------------------------------------------- waiting */

enum rsm_status rsmcore_records_wait(struct rsmcore_records *records, int timeout_ms,
                                     struct rsm_record *record)
{
    int64_t end = rsm_deadline(timeout_ms);
    for (;;) {
        if (take_uncounted(records, false, record))
            return RSM_ST_OK;
        enum rsm_status status = rsmcore_event_wait(records->event, rsm_deadline_left_ms(end));
        if (status == RSM_ST_ABORTED && take_uncounted(records, true, record))
            return RSM_ST_OK;
        if (status != RSM_ST_OK)
            return status;
        status = take_counted(records, record);
        if (status != RSM_ST_TIMEOUT)
            return status;
    }
}

void rsmcore_records_cancel(struct rsmcore_records *records)
{
    rsmcore_event_cancel(records->event);
}

enum rsm_status rsmcore_records_descriptor(struct rsmcore_records *records, int *fd)
{
    return rsmcore_event_descriptor(records->event, fd);
}
