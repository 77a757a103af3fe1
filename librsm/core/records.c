/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/records.h"

#include <stdlib.h>

#include "base/clock.h"
#include "core/mailbox.h"

struct rsmcore_records {
    struct rsmcore_mailbox mailbox; /* its lock guards what follows, too */
    struct rsmcore_import *import;  /* NULL: of an export */
    /* an overflow was reported: a LOST may be among the records it stands for */
    bool lost_records;
    bool loss_reported; /* the importer has got its LOST */
};

enum rsm_status rsmcore_records_make(struct rsmcore_control *control, enum rsm_event_end end,
                                     uint32_t id, struct rsmcore_import *import,
                                     struct rsmcore_records **records)
{
    struct rsmcore_records *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = rsmcore_mailbox_open(&made->mailbox, control, end, id);
    if (status != RSM_ST_OK) {
        free(made);
        return status;
    }
    made->import = import;
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
    rsmcore_mailbox_close(&records->mailbox);
    free(records);
}

static bool is_known(const struct rsm_record *record)
{
    return record->event >= RSM_RECORD_CONNECTED && record->event <= RSM_RECORD_ANSWERS;
}

/* Report the loss of the connection without a record of rsmd. */
static bool take_loss(struct rsmcore_records *records, struct rsm_record *record)
{
    if (records->import == NULL || records->loss_reported)
        return false;
    *record = (struct rsm_record){.event = RSM_RECORD_LOST, .order = records->mailbox.after + 1};
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

/* Take the record of an event that was consumed from the counter. *taken: false if it has been
 * delivered already. */
static enum rsm_status take_counted(struct rsmcore_records *records, struct rsm_record *record,
                                    bool *taken)
{
    const struct rsm_mailbox_entry *entry;
    pthread_mutex_lock(&records->mailbox.lock);
    enum rsm_status status = rsmcore_mailbox_take(&records->mailbox, &entry);
    *taken = status == RSM_ST_OK && entry != NULL && !is_repeated(records, &entry->record);
    if (*taken) {
        *record = entry->record;
        records->lost_records |= record->event == RSM_RECORD_OVERFLOW;
    }
    pthread_mutex_unlock(&records->mailbox.lock);
    return *taken && !is_known(record) ? RSM_ST_PROTOCOL : status;
}

/* Whether to report the loss without a record: the daemon has died, or the record was dropped. */
static bool take_uncounted(struct rsmcore_records *records, bool daemon_died,
                           struct rsm_record *record)
{
    pthread_mutex_lock(&records->mailbox.lock);
    bool cut = daemon_died || (records->lost_records && records->import != NULL &&
                               rsmcore_import_aborted(records->import));
    bool taken = cut && rsmcore_mailbox_is_empty(&records->mailbox) && take_loss(records, record);
    pthread_mutex_unlock(&records->mailbox.lock);
    return taken;
}

enum rsm_status rsmcore_records_wait(struct rsmcore_records *records, int timeout_ms,
                                     struct rsm_record *record)
{
    int64_t end = rsm_deadline(timeout_ms);
    for (;;) {
        bool taken;
        if (take_uncounted(records, false, record))
            return RSM_ST_OK;
        enum rsm_status status =
            rsmcore_event_wait(records->mailbox.event, rsm_deadline_left_ms(end));
        if (status == RSM_ST_ABORTED && take_uncounted(records, true, record))
            return RSM_ST_OK;
        if (status != RSM_ST_OK)
            return status;
        status = take_counted(records, record, &taken);
        if (status != RSM_ST_OK || taken)
            return status;
    }
}

void rsmcore_records_cancel(struct rsmcore_records *records)
{
    rsmcore_event_cancel(records->mailbox.event);
}

enum rsm_status rsmcore_records_descriptor(struct rsmcore_records *records, int *fd)
{
    return rsmcore_event_descriptor(records->mailbox.event, fd);
}

struct rsmcore_event *rsmcore_records_event(const struct rsmcore_records *records)
{
    return records->mailbox.event;
}
