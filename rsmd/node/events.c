/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/events.h"

#include "node/call.h"
#include "base/clock.h"
#include "base/log.h"
#include "node/remote/relay.h"
#include "node/remote/remote.h"
#include "node/interrupts.h"
#include "node/records.h"
#include "node/registry.h"

/* A handle of the asking client: exactly one of the first three is set. */
struct event_handle {
    struct rsmd_export *exported;
    struct rsmd_import *import;
    struct rsmd_interrupt *interrupt;
    bool records; /* its records are meant, not its events */
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
        handle->interrupt = rsmd_client_interrupt(call->node, call->client, id);
    else
        return RSM_ST_INVALID;
    bool found = handle->exported != NULL || handle->import != NULL || handle->interrupt != NULL;
    return found ? RSM_ST_OK : RSM_ST_NOT_FOUND;
}

/* The same for what is between two ends, as records and interrupts are not. */
static enum rsm_status find_end(const struct rsmd_call *call, uint32_t end, uint32_t id,
                                struct event_handle *handle)
{
    return end == RSM_EVENT_EXPORT || end == RSM_EVENT_IMPORT ? find_handle(call, end, id, handle)
                                                              : RSM_ST_INVALID;
}

/* Whom what belongs to a handle is charged to. */
static struct rsmd_account *account_of(const struct rsmd_call *call,
                                       const struct event_handle *handle)
{
    return handle->import != NULL ? handle->import->account : call->client->account;
}

static struct rsmd_records **records_of(const struct event_handle *handle)
{
    return handle->exported != NULL ? &handle->exported->records : &handle->import->records;
}

/* NULL: of records that are not kept. */
static struct rsmd_events *events_of(const struct event_handle *handle)
{
    if (handle->records)
        return *records_of(handle) != NULL ? rsmd_records_events(*records_of(handle)) : NULL;
    if (handle->interrupt != NULL)
        return rsmd_interrupt_events(handle->interrupt);
    return handle->exported != NULL ? &handle->exported->events : &handle->import->events;
}

/* The owner learns that it has missed events. Posters ask anew for the counters that there are. */
static void tell_missed(struct rsmd_node *node, const struct event_handle *handle)
{
    const struct rsmd_import *import = handle->import;
    events_of(handle)->missed = false;
    if (import != NULL && import->exported != NULL)
        rsmd_generation_table_advance(node->generation_table, import->exported->epoch_slot);
}

/* Whoever asks for the records of a connection is told what has become of the segment already. */
static enum rsm_status begin_records(const struct rsmd_call *call,
                                     const struct event_handle *handle)
{
    const struct rsmd_import *import = handle->import;
    bool first = *records_of(handle) == NULL;
    enum rsm_status status = rsmd_records_begin(account_of(call, handle), records_of(handle));
    if (status != RSM_ST_OK || !first || import == NULL)
        return status;
    if (import->asked_to_leave)
        rsmd_record_to_importer(call->node, import, RSM_RECORD_UNAVAILABLE);
    if (import->exported == NULL && import->remote == NULL)
        rsmd_record_to_importer(call->node, import, RSM_RECORD_LOST);
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
        tell_missed(call->node, &handle);
        return RSM_ST_NO_RESOURCES;
    }
    status = rsmd_events_need_cell(account_of(call, &handle), events);
    if (status != RSM_ST_OK)
        return status;
    call->attached.fds[call->attached.count++] = events->counter;
    return RSM_ST_OK;
}

/* An event does not reach a counter, because there is none to be had. The counter's owner gets an
 * error instead when it looks for events. */
static void note_missed(struct rsmd_node *node, const struct rsmd_client *owner,
                        struct rsmd_events *events)
{
    unsigned dropped;
    events->missed = true;
    if (!rsmd_bucket_take(&node->missed_log, rsm_clock_ns() / 1000000, &dropped))
        return;
    if (owner->remote == NULL)
        rsm_log_error("process %d misses an event: its counter cannot be made",
                      (int)owner->peer.pid);
    else
        rsm_log_error(
            "an importer of node %u misses an event and is cut off: its counter cannot be "
            "made",
            (unsigned)owner->node);
}

static void add_peer(struct rsmd_call *call, const struct rsmd_events *events, uint32_t name)
{
    struct rsm_event_receivers_reply *reply = &call->reply->u.event_receivers_reply;
    call->attached.fds[call->attached.count++] = events->counter;
    reply->peers[reply->count++] = name;
}

/* The counter through which the exporter's end of a connection is posted to; NULL: it was aborted.
 */
static enum rsm_status need_exporters(struct rsmd_node *node, struct rsmd_import *import,
                                      const struct rsmd_events **events)
{
    struct rsmd_export *exported = import->exported;
    enum rsm_status status = RSM_ST_OK;
    *events = NULL;
    if (exported != NULL) {
        status = rsmd_events_need_cell(exported->client->account, &exported->events);
        *events = &exported->events;
    } else if (rsmd_remote_has(import)) {
        status = rsmd_relay_need(node, import);
        if (status == RSM_ST_OK)
            *events = rsmd_relay_events(import);
    }
    return status;
}

/* ... the importer's end. */
static enum rsm_status need_importers(struct rsmd_node *node, struct rsmd_import *import,
                                      const struct rsmd_events **events)
{
    if (import->remote == NULL) {
        *events = &import->events;
        return rsmd_events_need_cell(import->account, &import->events);
    }
    enum rsm_status status = rsmd_relay_need(node, import);
    if (status == RSM_ST_OK)
        *events = rsmd_relay_events(import);
    return status;
}

static enum rsm_status receivers_of_import(struct rsmd_call *call, struct rsmd_import *import)
{
    struct rsm_event_receivers_reply *reply = &call->reply->u.event_receivers_reply;
    const struct rsmd_events *events;
    enum rsm_status status = need_exporters(call->node, import, &events);
    if (status != RSM_ST_OK)
        return status;
    if (events != NULL) {
        reply->total = 1;
        if (call->request->u.event_receivers.first == 0)
            add_peer(call, events, 0);
    }
    reply->epoch = rsmd_generation_table_value(call->node->generation_table, import->slot);
    return RSM_ST_OK;
}

/* In place of an importer that cannot be posted to: the others are not to miss the event for it. It
 * learns that it has missed one when it looks for events. One on another host looks there, so that
 * its connection is cut instead. */
static void add_nobody(struct rsmd_call *call, struct rsmd_import *import)
{
    struct rsm_event_receivers_reply *reply = &call->reply->u.event_receivers_reply;
    note_missed(call->node, import->client, &import->events);
    if (import->remote != NULL)
        rsmd_import_abort(call->node, import);
    else
        reply->peers[reply->count++] = 0;
}

/* The connection with that index. Whoever asks for page after page gets there without a walk. */
static struct rsmd_import *find_receiver(const struct rsmd_export *exported, uint32_t index)
{
    struct rsmd_import *import = exported->imports;
    if (exported->page.import != NULL && exported->page.index == index)
        return exported->page.import;
    for (uint32_t i = 0; i < index && import != NULL; i++)
        import = import->export_next;
    return import;
}

static enum rsm_status receivers_of_export(struct rsmd_call *call, struct rsmd_export *exported)
{
    struct rsm_event_receivers_reply *reply = &call->reply->u.event_receivers_reply;
    uint32_t first = call->request->u.event_receivers.first;
    struct rsmd_import *import = find_receiver(exported, first), *next;
    for (; import != NULL && reply->count < RSM_PROTO_COUNTERS_MAX; import = next) {
        const struct rsmd_events *events;
        next = import->export_next;
        if (need_importers(call->node, import, &events) == RSM_ST_OK)
            add_peer(call, events, import->id);
        else
            add_nobody(call, import);
    }
    exported->page.import = import;
    exported->page.index = first + reply->count;
    reply->total = exported->import_count;
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

/* The owner gets the end that it polls, and with a request of its own the end that rings. By then rsmd has
 * closed its own copy of the first, so that it never closes one into which others could have put
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

static bool ring_importer(struct rsmd_import *import)
{
    return import->remote != NULL ? rsmd_relay_rung(import) : rsmd_events_ring(&import->events);
}

/* Ring for the peer that a handle's owner has posted to. */
static bool ring_peer(const struct rsmd_node *node, const struct event_handle *handle,
                      uint32_t peer)
{
    struct rsmd_import *import = handle->import;
    if (import == NULL) {
        HASH_FIND_INT(node->imports, &peer, import);
        return import != NULL && import->exported == handle->exported && ring_importer(import);
    }
    if (peer != 0)
        return false;
    if (import->exported != NULL)
        return rsmd_events_ring(&import->exported->events);
    return import->remote != NULL && rsmd_relay_rung(import);
}

enum rsm_status rsmd_answer_event_doorbell(struct rsmd_call *call)
{
    const struct rsm_event_doorbell_request *asked = &call->request->u.event_doorbell;
    struct event_handle handle;
    enum rsm_status status = find_end(call, asked->end, asked->id, &handle);
    if (status != RSM_ST_OK)
        return status;
    return ring_peer(call->node, &handle, asked->peer) ? RSM_ST_OK : RSM_ST_NOT_FOUND;
}

/* ------------------------------------------------------------------ news of fabric and remote
 * nodes
 */

/* Post to a counter of a client's handle. */
static void post(struct rsmd_node *node, struct rsmd_client *owner, struct rsmd_account *account,
                 struct rsmd_events *events, uint32_t count, bool coalesced)
{
    node->events += count;
    if (rsmd_events_need_cell(account, events) != RSM_ST_OK ||
        !rsmd_events_post(events, count, coalesced))
        note_missed(node, owner, events);
}

/* The coalesced one came first. */
static void post_batch(struct rsmd_node *node, struct rsmd_client *owner,
                       struct rsmd_account *account, struct rsmd_events *events, uint32_t count,
                       bool coalesced)
{
    if (coalesced)
        post(node, owner, account, events, 1, true);
    if (count > 0)
        post(node, owner, account, events, count, false);
}

void rsmd_export_posted(struct rsmd_node *node, struct rsmd_export *exported, uint32_t count,
                        bool coalesced)
{
    struct rsmd_client *owner = exported->client;
    post_batch(node, owner, owner->account, &exported->events, count, coalesced);
}

void rsmd_import_posted(struct rsmd_node *node, struct rsmd_import *import, uint32_t count,
                        bool coalesced)
{
    post_batch(node, import->client, import->account, &import->events, count, coalesced);
}

void rsmd_import_signalled(struct rsmd_node *node, struct rsmd_import *import, uint32_t count,
                           bool coalesced)
{
    struct rsmd_client *owner = import->exported->client;
    post(node, owner, owner->account, &import->exported->events, count, coalesced);
}

void rsmd_import_lost(struct rsmd_node *node, struct rsmd_import *import)
{
    if (import->remote == NULL)
        rsmd_import_abort(node, import);
    else
        rsmd_remote_lost(node, import);
}
