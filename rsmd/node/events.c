/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/call.h"
#include "node/counters.h"
#include "node/exports.h"
#include "node/grants.h"
#include "node/imports.h"
#include "node/interrupts.h"
#include "node/mailbox.h"
#include "node/records.h"

/* A handle of the asking client: exactly one of the first three is set. */
struct event_handle {
    struct rsmd_export *exported;
    struct rsmd_import *import;
    struct rsmd_interrupt *interrupt;
    bool records; /* names its records, not its events */
};

static enum rsm_status find_handle(const struct rsmd_call *call, uint32_t end, uint32_t id,
                                   struct event_handle *handle)
{
    bool of_export = end == RSM_EVENT_EXPORT || end == RSM_EVENT_EXPORT_RECORDS;
    bool of_import = end == RSM_EVENT_IMPORT || end == RSM_EVENT_IMPORT_RECORDS;
    *handle = (struct event_handle){.records = end == RSM_EVENT_EXPORT_RECORDS ||
                                               end == RSM_EVENT_IMPORT_RECORDS};
    bool foreign = call->client->node != call->node->id;
    if (of_export && foreign)
        return RSM_ST_DENIED;
    if (of_export)
        handle->exported = rsmd_client_export(call->node, call->client, id);
    else if (of_import)
        handle->import = rsmd_client_import(call->node, call->client, id);
    else if (end == RSM_EVENT_INTERRUPT)
        return rsmd_interrupt_find_created(call, id, &handle->interrupt);
    else
        return RSM_ST_INVALID;
    return handle->exported != NULL || handle->import != NULL ? RSM_ST_OK : RSM_ST_NOT_FOUND;
}

/* The same for a handle with two ends: not for records and interrupts. */
static enum rsm_status find_end(const struct rsmd_call *call, uint32_t end, uint32_t id,
                                struct event_handle *handle)
{
    return end == RSM_EVENT_EXPORT || end == RSM_EVENT_IMPORT ? find_handle(call, end, id, handle)
                                                              : RSM_ST_INVALID;
}

/* The account that is charged for a handle. */
static struct rsmd_account *account_of(const struct rsmd_call *call,
                                       const struct event_handle *handle)
{
    return handle->import != NULL ? handle->import->importer.account : call->client->account;
}

static struct rsmd_mailbox **records_of(const struct event_handle *handle)
{
    return handle->exported != NULL ? &handle->exported->records
                                    : &handle->import->importer.records;
}

/* Of an interrupt or of records. NULL: they are not kept. */
static struct rsmd_mailbox *mailbox_of(const struct event_handle *handle)
{
    return handle->interrupt != NULL ? &handle->interrupt->mailbox : *records_of(handle);
}

/* NULL: of records that are not kept. */
static struct rsmd_events *events_of(const struct event_handle *handle)
{
    if (handle->interrupt == NULL && !handle->records)
        return handle->exported != NULL ? &handle->exported->events : &handle->import->events;
    struct rsmd_mailbox *mailbox = mailbox_of(handle);
    return mailbox != NULL ? &mailbox->events : NULL;
}

/* Report to the owner that it has missed events. Posters fetch the list of counters again. */
static void report_missed(struct rsmd_node *node, const struct event_handle *handle)
{
    const struct rsmd_grant *grant = handle->import != NULL ? handle->import->importer.grant : NULL;
    events_of(handle)->missed = false;
    if (grant != NULL)
        rsmd_generation_table_advance(node->generation_table, grant->exported->epoch_slot);
}

/* Begin the records of a handle. The first one reports what has become of the segment already. */
static enum rsm_status begin_records(const struct rsmd_call *call,
                                     const struct event_handle *handle)
{
    const struct rsmd_import *import = handle->import;
    bool first = *records_of(handle) == NULL;
    enum rsm_status status = rsmd_records_begin(account_of(call, handle), records_of(handle));
    if (status != RSM_ST_OK || !first || import == NULL)
        return status;
    if (import->importer.silent && !import->aborted)
        rsmd_record_to_importer(call->node, &import->importer, RSM_RECORD_SILENT);
    if (import->asked_to_leave)
        rsmd_record_to_importer(call->node, &import->importer, RSM_RECORD_UNAVAILABLE);
    if (import->aborted)
        rsmd_record_to_importer(call->node, &import->importer, RSM_RECORD_LOST);
    return status;
}

enum rsm_status rsmd_answer_event_open(struct rsmd_call *call)
{
    const struct rsm_event_open_request *asked = &call->request->u.event_open;
    struct event_handle handle;
    enum rsm_status status = find_handle(call, asked->end, asked->id, &handle);
    if (status == RSM_ST_OK && handle.records)
        status = begin_records(call, &handle);
    if (status != RSM_ST_OK)
        return status;
    struct rsmd_events *events = events_of(&handle);
    if (events->missed) {
        report_missed(call->node, &handle);
        return RSM_ST_NO_RESOURCES;
    }
    status = rsmd_events_need_counter(account_of(call, &handle), events);
    if (status != RSM_ST_OK)
        return status;
    call->attached.fds[call->attached.count++] = events->counter;
    return RSM_ST_OK;
}

static void add_receiver(struct rsmd_call *call, const struct rsmd_events *events, uint32_t name)
{
    struct rsm_event_receivers_reply *reply = &call->reply->u.event_receivers_reply;
    call->attached.fds[call->attached.count++] = events->counter;
    reply->receivers[reply->count++] = name;
}

static enum rsm_status receivers_of_import(struct rsmd_call *call, struct rsmd_import *import)
{
    struct rsm_event_receivers_reply *reply = &call->reply->u.event_receivers_reply;
    const struct rsmd_events *events;
    enum rsm_status status = import->exporter_ops->receiver(call->node, import, &events);
    if (status != RSM_ST_OK)
        return status;
    if (events != NULL) {
        reply->total = 1;
        if (call->request->u.event_receivers.first == 0)
            add_receiver(call, events, 0);
    }
    reply->epoch = rsmd_generation_table_value(call->node->generation_table, import->importer.slot);
    return RSM_ST_OK;
}

/* An importer without a counter gets an entry all the same, unless it had to be aborted, so that
 * the others get the event. */
static void add_importer(struct rsmd_call *call, struct rsmd_importer *importer)
{
    struct rsm_event_receivers_reply *reply = &call->reply->u.event_receivers_reply;
    const struct rsmd_events *events;
    if (importer->ops->receiver(call->node, importer, &events) == RSM_ST_OK)
        add_receiver(call, events, importer->id);
    else if (importer->ops->missed(call->node, importer))
        reply->receivers[reply->count++] = 0;
}

/* The connection with that index. For the next page of a list it is known without a walk. */
static struct rsmd_grant *find_receiver(const struct rsmd_export *exported, uint32_t index)
{
    struct rsmd_grant *grant = exported->grants;
    if (exported->page.grant != NULL && exported->page.index == index)
        return exported->page.grant;
    for (uint32_t i = 0; i < index && grant != NULL; i++)
        grant = grant->next;
    return grant;
}

static enum rsm_status receivers_of_export(struct rsmd_call *call, struct rsmd_export *exported)
{
    struct rsm_event_receivers_reply *reply = &call->reply->u.event_receivers_reply;
    uint32_t first = call->request->u.event_receivers.first;
    struct rsmd_grant *grant = find_receiver(exported, first), *next;
    for (; grant != NULL && reply->count < RSM_PROTO_COUNTERS_MAX; grant = next) {
        next = grant->next;
        add_importer(call, grant->importer);
    }
    exported->page.grant = grant;
    exported->page.index = first + reply->count;
    reply->total = exported->grant_count;
    reply->epoch = rsmd_generation_table_value(call->node->generation_table, exported->epoch_slot);
    return RSM_ST_OK;
}

enum rsm_status rsmd_answer_event_receivers(struct rsmd_call *call)
{
    const struct rsm_event_receivers_request *asked = &call->request->u.event_receivers;
    struct event_handle handle;
    enum rsm_status status = find_end(call, asked->end, asked->id, &handle);
    if (status == RSM_ST_OK)
        status = handle.exported != NULL ? receivers_of_export(call, handle.exported)
                                         : receivers_of_import(call, handle.import);
    if (status != RSM_ST_OK)
        call->attached.count = 0;
    return status;
}

/* The owner gets the end that it polls, and by a second request the end that rings. By then rsmd
 * has closed its copy of the former, so it never closes an end into which others may have put
 * descriptors. */
enum rsm_status rsmd_answer_event_arm(struct rsmd_call *call)
{
    const struct rsm_event_arm_request *asked = &call->request->u.event_arm;
    struct event_handle handle;
    enum rsm_status status = find_handle(call, asked->end, asked->id, &handle);
    if (status == RSM_ST_OK && asked->ringing > 1)
        status = RSM_ST_INVALID;
    if (status != RSM_ST_OK)
        return status;
    struct rsmd_events *events = events_of(&handle);
    if (events == NULL || (asked->ringing == 1 && events->doorbell < 0))
        return RSM_ST_NOT_FOUND;
    int fd = events->doorbell;
    if (asked->ringing == 0) {
        status = rsmd_events_arm(account_of(call, &handle), events, &fd);
        if (status != RSM_ST_OK)
            return status;
        call->close_attached = true;
    }
    call->attached.fds[call->attached.count++] = fd;
    return RSM_ST_OK;
}

/* Ring the doorbell of the receiver that a handle's owner has posted to. */
static bool ring_receiver(const struct rsmd_node *node, const struct event_handle *handle,
                          uint32_t receiver)
{
    struct rsmd_import *import = handle->import;
    if (import != NULL)
        return receiver == 0 && import->exporter_ops->ring(import);
    struct rsmd_importer *importer = rsmd_importer_find(node, receiver);
    return importer != NULL && importer->grant != NULL &&
           importer->grant->exported == handle->exported && importer->ops->ring(importer);
}

enum rsm_status rsmd_answer_event_doorbell(struct rsmd_call *call)
{
    const struct rsm_event_doorbell_request *asked = &call->request->u.event_doorbell;
    struct event_handle handle;
    enum rsm_status status = find_end(call, asked->end, asked->id, &handle);
    if (status != RSM_ST_OK)
        return status;
    return ring_receiver(call->node, &handle, asked->receiver) ? RSM_ST_OK : RSM_ST_NOT_FOUND;
}

enum rsm_status rsmd_answer_mailbox_take(struct rsmd_call *call)
{
    const struct rsm_mailbox_take_request *asked = &call->request->u.mailbox_take;
    struct event_handle handle;
    enum rsm_status status = find_handle(call, asked->end, asked->id, &handle);
    if (status != RSM_ST_OK)
        return status;
    if (handle.interrupt == NULL && !handle.records)
        return RSM_ST_INVALID;
    struct rsmd_mailbox *mailbox = mailbox_of(&handle);
    if (mailbox == NULL)
        return RSM_ST_NOT_FOUND;
    rsmd_mailbox_take(call->node, mailbox, asked->after, &call->reply->u.mailbox_take_reply);
    return RSM_ST_OK;
}
