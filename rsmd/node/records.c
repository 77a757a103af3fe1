/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/records.h"

#include <stdlib.h>

#include "node/counters.h"
#include "node/grants.h"
#include "node/imports.h"
#include "node/mailbox.h"
#include "node/saved.h"

static struct rsmd_mailbox *make_records(struct rsmd_account *account)
{
    struct rsmd_mailbox *made = malloc(sizeof *made);
    if (made != NULL)
        rsmd_mailbox_init(made, account);
    return made;
}

enum rsm_status rsmd_records_begin(struct rsmd_account *account, struct rsmd_mailbox **records)
{
    if (*records != NULL)
        return RSM_ST_OK;
    struct rsmd_mailbox *made = make_records(account);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = rsmd_events_need_counter(account, &made->events);
    if (status == RSM_ST_OK)
        *records = made;
    else
        free(made);
    return status;
}

void rsmd_records_end(struct rsmd_mailbox **records)
{
    if (*records == NULL)
        return;
    rsmd_mailbox_end(*records);
    free(*records);
    *records = NULL;
}

enum { NO_RECORD = 0 }; /* as the event of one */

struct rsm_record rsmd_record_of(const struct rsmd_importer *importer, enum rsm_record_event event)
{
    return (struct rsm_record){.event = importer->attached ? NO_RECORD : event,
                               .node = importer->who.node,
                               .connection = importer->id};
}

void rsmd_record_to_exporter(struct rsmd_node *node, struct rsmd_export *exported,
                             const struct rsm_record *record)
{
    const struct rsmd_grant *grant;
    if (record->event == NO_RECORD)
        return;
    if (exported->records != NULL)
        rsmd_mailbox_note(node, exported->records, record);
    DL_FOREACH(exported->attached, grant)
    if (grant->importer->records != NULL)
        rsmd_mailbox_note(node, grant->importer->records, record);
}

void rsmd_record_to_importer(struct rsmd_node *node, const struct rsmd_importer *importer,
                             enum rsm_record_event event)
{
    const struct rsm_record record = {
        .event = event, .node = importer->exporter, .connection = importer->id};
    if (importer->records != NULL)
        rsmd_mailbox_note(node, importer->records, &record);
}

bool rsmd_restore_records(struct rsmd_snapshot_reader *reader, struct rsmd_account *account,
                          struct rsmd_mailbox **records)
{
    if (rsmd_snapshot_next(reader) != RSMD_SAVED_MAILBOX)
        return !reader->bad;
    *records = make_records(account);
    return *records != NULL && rsmd_restore_mailbox(reader, *records);
}
