/* SPDX-License-Identifier: BSD-3-Clause */
/* SCIConnectSegment(), SCIDisconnectSegment(), queries, and events */
#include "segment_remote.h"

#include <stdlib.h>

#include "adapter.h"
#include "core/group_import.h"
#include "export.h"
#include "order.h"

enum {
    RIGHTS = RSM_RIGHT_READ | RSM_RIGHT_WRITE,
    CONNECT_FLAGS = SCI_FLAG_USE_CALLBACK | SCI_FLAG_ASYNCHRONOUS_CONNECT | SCI_FLAG_BROADCAST |
                    SCI_FLAG_DMA_GLOBAL | RSM_SCI_FLAG_CONNECT_WAIT,
};

static void drop_connection(struct sisci_connection *connection)
{
    if (atomic_fetch_sub(&connection->holders, 1) > 1)
        return;
    struct rsmcore_import *import = atomic_load(&connection->import);
    if (connection->records != NULL)
        rsmcore_records_destroy(connection->records);
    if (import != NULL) {
        sisci_order_forget(import);
        rsmcore_import_disconnect(import);
    }
    rsmcore_controller_close(connection->controller);
    pthread_mutex_destroy(&connection->lock);
    free(connection);
}

void sisci_connection_use(struct sisci_connection *connection)
{
    atomic_fetch_add(&connection->transfers, 1);
    atomic_fetch_add(&connection->holders, 1);
}

void sisci_connection_unuse(struct sisci_connection *connection)
{
    atomic_fetch_sub(&connection->transfers, 1);
    drop_connection(connection);
}

/* A member of a group can be connected by itself, too, where no other segment has the id. */
static enum rsm_status connect_import(const struct sisci_connection *connection,
                                      struct rsmcore_import **import)
{
    static const enum rsm_id_space spaces[] = {RSM_ID_SPACE_SISCI, RSM_ID_SPACE_SISCI_GROUPS};
    enum rsm_status status = RSM_ST_NOT_FOUND;
    if (connection->broadcast)
        return rsmcore_import_connect_group(connection->controller, RSM_ID_SPACE_SISCI_GROUPS,
                                            connection->id, import);
    for (unsigned i = 0; i < sizeof spaces / sizeof spaces[0] && status == RSM_ST_NOT_FOUND; i++)
        status = rsmcore_import_connect(connection->controller, connection->node, spaces[i],
                                        connection->id, RIGHTS, import);
    return status;
}

static enum rsm_status connect_now(struct sisci_connection *connection)
{
    struct rsmcore_import *import;
    enum rsm_status status = connect_import(connection, &import);
    if (status == RSM_ST_OK && !sisci_order_add(import)) {
        rsmcore_import_disconnect(import);
        status = RSM_ST_NO_MEMORY;
    }
    if (status == RSM_ST_OK)
        atomic_store_explicit(&connection->import, import, memory_order_release);
    return status;
}

/* Let events be kept from now on. */
static sci_error_t need_events(struct sisci_connection *connection)
{
    RSM_UNCANCELLABLE;
    struct rsmcore_import *import = atomic_load(&connection->import);
    enum rsm_status status = RSM_ST_OK;
    pthread_mutex_lock(&connection->lock);
    if (connection->cancelled)
        status = RSM_ST_STALE;
    else if (connection->records == NULL && import != NULL)
        status = rsmcore_records_of_import(import, &connection->records);
    pthread_mutex_unlock(&connection->lock);
    return sisci_error(SISCI_WAIT, status);
}

/* Change the state by an event. False: there is no such transition, and the event is not
 * reported. */
static bool go(struct sisci_connection *connection, sci_segment_cb_reason_t reason)
{
    enum sisci_remote_state state = atomic_load(&connection->state), next;
    do
        next = sisci_remote_edges[state][reason];
    while (next != SISCI_REMOTE_STATES &&
           !atomic_compare_exchange_weak(&connection->state, &state, next));
    return next != SISCI_REMOTE_STATES;
}

struct call {
    struct sisci_connection *connection;
    sci_segment_cb_reason_t reason;
    sci_error_t status;
    sci_callback_action_t answer;
};

static void call_program(void *argument)
{
    struct call *call = argument;
    const struct sisci_connection *connection = call->connection;
    call->answer =
        connection->callback(connection->argument, connection->handle, call->reason, call->status);
}

static bool is_cancelled(struct sisci_connection *connection)
{
    pthread_mutex_lock(&connection->lock);
    bool cancelled = connection->cancelled;
    pthread_mutex_unlock(&connection->lock);
    return cancelled;
}

static enum sisci_turn report(struct sisci_connection *connection, sci_segment_cb_reason_t reason,
                              sci_error_t status)
{
    struct call call = {.connection = connection, .reason = reason, .status = status};
    if (is_cancelled(connection))
        return SISCI_TURN_LAST;
    if (!go(connection, reason))
        return SISCI_TURN_AGAIN;
    sisci_call_deep(call_program, &call);
    return call.answer != SCI_CALLBACK_CANCEL && reason != SCI_CB_LOST ? SISCI_TURN_AGAIN
                                                                       : SISCI_TURN_LAST;
}

/* Connect, if that has not been done, and report the outcome. */
static enum sisci_turn begin(struct sisci_connection *connection)
{
    sci_error_t error = SCI_ERR_OK;
    connection->begin_reported = true;
    if (atomic_load(&connection->import) == NULL)
        error = sisci_error(SISCI_CONNECT, connect_now(connection));
    if (error == SCI_ERR_OK)
        error = need_events(connection);
    return report(connection, error == SCI_ERR_OK ? SCI_CB_OPERATIONAL : SCI_CB_LOST, error);
}

/* None before it has begun. */
static struct rsmcore_event *event_of(const void *bytes)
{
    const struct sisci_connection *connection = bytes;
    return connection->records != NULL ? rsmcore_records_event(connection->records) : NULL;
}

static enum sisci_turn take_turn(void *bytes)
{
    struct sisci_connection *connection = bytes;
    struct sisci_event event;
    if (!connection->begin_reported)
        return begin(connection);
    if (is_cancelled(connection))
        return SISCI_TURN_LAST;
    enum rsm_status status = sisci_event_take(connection->records, 0, &event);
    if (status != RSM_ST_OK)
        return sisci_event_turn(status);
    return report(connection, event.reason, SCI_ERR_OK);
}

static void finish(void *bytes)
{
    drop_connection(bytes);
}

static const struct sisci_listener_type listener_type = {
    .event = event_of, .take_turn = take_turn, .finish = finish};

static void cancel(struct sisci_object *object)
{
    struct sisci_connection *connection = ((struct sisci_remote_segment *)object)->connection;
    pthread_mutex_lock(&connection->lock);
    connection->cancelled = true;
    if (connection->records != NULL)
        rsmcore_records_cancel(connection->records);
    pthread_mutex_unlock(&connection->lock);
}

static void release(struct sisci_object *object)
{
    struct sisci_remote_segment *segment = (struct sisci_remote_segment *)object;
    if (segment->listener != NULL)
        (void)sisci_listener_end(segment->listener);
    drop_connection(segment->connection);
}

static sci_error_t query(struct sisci_object *object, unsigned subcommand,
                         unsigned long long *answer)
{
    const struct sisci_connection *connection = ((struct sisci_remote_segment *)object)->connection;
    if (subcommand != SCI_Q_REMOTE_SEGMENT_IOADDR)
        return SCI_ERR_ILLEGAL_QUERY;
    *answer = sisci_ioaddr(connection->node, connection->id);
    return SCI_ERR_OK;
}

static void leave(const struct sisci_object *object, struct sisci_remains *remains)
{
    const struct sisci_remote_segment *segment = (const struct sisci_remote_segment *)object;
    const struct rsmcore_import *import = sisci_remote_import(segment);
    *remains = (struct sisci_remains){.size = import != NULL ? import->size : 0,
                                      .id = segment->connection->id,
                                      .node = segment->connection->node};
}

const struct sisci_type sisci_remote_type = {.kind = SISCI_REMOTE_SEGMENT,
                                             .cancel = cancel,
                                             .release = release,
                                             .query = query,
                                             .leave = leave};

/* What a handle is asked for with. */
struct wanted {
    unsigned node, id, adapter;
    sci_cb_remote_segment_t callback;
    void *argument;
    unsigned flags;
};

static sci_error_t check_wanted(const struct wanted *wanted)
{
    bool calls_back = (wanted->flags & SCI_FLAG_USE_CALLBACK) != 0;
    if (calls_back && wanted->callback == NULL)
        return SCI_ERR_ILLEGAL_PARAMETER;
    if ((wanted->flags & SCI_FLAG_ASYNCHRONOUS_CONNECT) != 0 &&
        (!calls_back || (wanted->flags & RSM_SCI_FLAG_CONNECT_WAIT) != 0))
        return SCI_ERR_ILLEGAL_FLAG;
    if ((wanted->flags & SCI_FLAG_BROADCAST) != 0)
        return wanted->node == DIS_BROADCAST_NODEID_GROUP_ALL ? SCI_ERR_OK : SCI_ERR_ILLEGAL_NODEID;
    return wanted->node > RSM_NODE_ID_MAX ? SCI_ERR_ILLEGAL_NODEID : SCI_ERR_OK;
}

static sci_error_t make_connection(const struct wanted *wanted, struct sisci_connection **made)
{
    struct sisci_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL)
        return SCI_ERR_NOSPC;
    enum rsm_status status = RSM_ST_OK;
    connection->node = wanted->node;
    if (wanted->node == SCI_LOCAL_HOST)
        status = rsmcore_local_node(&connection->node);
    sci_error_t error = status == RSM_ST_OK
                            ? sisci_adapter_open(wanted->adapter, &connection->controller)
                            : sisci_error(SISCI_LOCAL, status);
    if (error != SCI_ERR_OK) {
        free(connection);
        return error;
    }
    connection->id = wanted->id;
    connection->adapter = wanted->adapter;
    connection->broadcast = (wanted->flags & SCI_FLAG_BROADCAST) != 0;
    connection->callback = wanted->callback;
    connection->argument = wanted->argument;
    atomic_init(&connection->holders, 1);
    pthread_mutex_init(&connection->lock, NULL);
    *made = connection;
    return SCI_ERR_OK;
}

/* With the segment held. */
static sci_error_t start_listener(struct sisci_remote_segment *segment)
{
    struct sisci_connection *connection = segment->connection;
    connection->handle = sisci_handle(&segment->object);
    atomic_fetch_add(&connection->holders, 1);
    sci_error_t error = sisci_listener_start(&listener_type, connection, &segment->listener);
    if (error != SCI_ERR_OK)
        drop_connection(connection);
    return error;
}

/* Make the handle. The connection is its from then on, in any case. */
static sci_error_t make_handle(struct sisci_object *desc, struct sisci_connection *connection,
                               bool calls_back, sci_remote_segment_t *handle)
{
    struct sisci_remote_segment *segment = calloc(1, sizeof *segment);
    sci_error_t error = SCI_ERR_NOSPC;
    if (segment != NULL) {
        segment->connection = connection;
        segment->calls_back = calls_back;
        error = sisci_object_enter(&segment->object, &sisci_remote_type, desc, (void **)handle);
    }
    if (error != SCI_ERR_OK) {
        drop_connection(connection);
        free(segment);
        return error;
    }
    if (!calls_back)
        return SCI_ERR_OK;
    struct sisci_object *held = sisci_hold(*handle, SISCI_REMOTE_SEGMENT);
    error = held != NULL ? start_listener(segment) : SCI_ERR_ILLEGAL_PARAMETER;
    if (error == SCI_ERR_OK)
        sisci_drop(held);
    else if (held != NULL)
        (void)sisci_end(held, SISCI_END_ALL);
    return error;
}

static sci_error_t connect_segment(struct sisci_object *desc, const struct wanted *wanted,
                                   sci_remote_segment_t *handle)
{
    struct sisci_connection *connection;
    bool calls_back = (wanted->flags & SCI_FLAG_USE_CALLBACK) != 0;
    sci_error_t error = make_connection(wanted, &connection);
    if (error != SCI_ERR_OK)
        return error;
    if ((wanted->flags & SCI_FLAG_ASYNCHRONOUS_CONNECT) == 0)
        error = sisci_error(SISCI_CONNECT, connect_now(connection));
    if (error != SCI_ERR_OK) {
        drop_connection(connection);
        return error;
    }
    /* Only callbacks get this event; a waiting thread has the return value. */
    if (!calls_back)
        (void)go(connection, SCI_CB_OPERATIONAL);
    return make_handle(desc, connection, calls_back, handle);
}

static sci_error_t try_to_connect(sci_desc_t sd, const struct wanted *wanted,
                                  sci_remote_segment_t *handle)
{
    RSM_UNCANCELLABLE;
    sci_error_t error = SCI_ERR_OK;
    struct sisci_object *desc = sisci_need(sd, SISCI_DESC, &error);
    if (desc == NULL)
        return error;
    error = connect_segment(desc, wanted, handle);
    sisci_drop(desc);
    return error;
}

SISCI_API(void, SCIConnectSegment)
(sci_desc_t sd, sci_remote_segment_t *segment, unsigned int nodeId, unsigned int segmentId,
 unsigned int localAdapterNo, sci_cb_remote_segment_t callback, void *callbackArg,
 unsigned int timeout, unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    const struct wanted wanted = {nodeId, segmentId, localAdapterNo, callback, callbackArg, flags};
    struct sisci_connect_limit limit = sisci_connect_limit(flags, timeout);
    sci_remote_segment_t made = NULL;
    sci_error_t result = sisci_check(flags, CONNECT_FLAGS);
    if (result == SCI_ERR_OK)
        result = segment == NULL ? SCI_ERR_ILLEGAL_PARAMETER : check_wanted(&wanted);
    if (result == SCI_ERR_OK)
        do
            result = try_to_connect(sd, &wanted, &made);
        while (sisci_connect_again(&limit, &result));
    if (segment != NULL)
        *segment = result == SCI_ERR_OK ? made : NULL;
    sisci_report(error, result);
}

/* Not while it is mapped, or DMA goes on. */
static sci_error_t disconnect(struct sisci_remote_segment *segment)
{
    if (atomic_load(&segment->connection->transfers) == 0)
        return sisci_end(&segment->object, SISCI_END_UNUSED);
    sisci_drop(&segment->object);
    return SCI_ERR_BUSY;
}

SISCI_API(void, SCIDisconnectSegment)
(sci_remote_segment_t segment, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sci_error_t result = sisci_check(flags, 0);
    struct sisci_remote_segment *held = sisci_need_to_end(segment, SISCI_REMOTE_SEGMENT, &result);
    if (held != NULL)
        result = disconnect(held);
    sisci_report(error, result);
}

/* Programs ask after the disconnect, too. */
static struct sisci_remains describe(sci_remote_segment_t handle)
{
    struct sisci_remains description;
    struct sisci_remote_segment *held = sisci_hold(handle, SISCI_REMOTE_SEGMENT);
    if (held == NULL)
        return sisci_remains_of(handle);
    leave(&held->object, &description);
    sisci_drop(&held->object);
    return description;
}

SISCI_API(size_t, SCIGetRemoteSegmentSize)(sci_remote_segment_t segment)
{
    RSM_CANCEL_DEFERRED;
    return (size_t)describe(segment).size;
}

SISCI_API(unsigned int, SCIGetRemoteSegmentId)(sci_remote_segment_t segment)
{
    RSM_CANCEL_DEFERRED;
    return describe(segment).id;
}

SISCI_API(unsigned int, SCIGetRemoteSegmentNodeId)(sci_remote_segment_t segment)
{
    RSM_CANCEL_DEFERRED;
    return describe(segment).node;
}

struct remote_wait {
    struct sisci_connection *connection;
    struct sisci_event event;
};

/* What leads nowhere is no event. */
static enum rsm_status take_event(void *argument, int timeout_ms)
{
    struct remote_wait *wait = argument;
    enum rsm_status status;
    do
        status = sisci_event_take(wait->connection->records, timeout_ms, &wait->event);
    while (status == RSM_ST_OK && !go(wait->connection, wait->event.reason));
    return status;
}

static sci_error_t wait_for_event(struct sisci_remote_segment *segment, unsigned timeout,
                                  sci_segment_cb_reason_t *reason)
{
    if (segment->calls_back)
        return SCI_ERR_ILLEGAL_OPERATION;
    struct remote_wait wait = {.connection = segment->connection};
    sci_error_t error = need_events(segment->connection);
    if (error != SCI_ERR_OK)
        return error;
    enum rsm_status status = sisci_wait(&segment->object, timeout, take_event, &wait);
    if (status == RSM_ST_NO_RESOURCES)
        return SCI_ERR_OVERFLOW;
    if (status == RSM_ST_OK)
        *reason = wait.event.reason;
    return sisci_error(SISCI_WAIT, status);
}

SISCI_API(sci_segment_cb_reason_t, SCIWaitForRemoteSegmentEvent)
(sci_remote_segment_t segment, sci_error_t *status, unsigned int timeout, unsigned int flags,
 sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sci_segment_cb_reason_t reason = (sci_segment_cb_reason_t)0;
    sci_error_t result = sisci_check(flags, 0);
    struct sisci_remote_segment *held = sisci_need(segment, SISCI_REMOTE_SEGMENT, &result);
    if (held != NULL) {
        result = wait_for_event(held, timeout, &reason);
        sisci_drop(&held->object);
    }
    sisci_report(status, SCI_ERR_OK);
    sisci_report(error, result);
    return reason;
}
