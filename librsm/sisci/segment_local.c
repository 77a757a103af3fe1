/* SPDX-License-Identifier: BSD-3-Clause */
/* SCICreateSegment(), SCIAttachLocalSegment(), SCIRemoveSegment() and queries */
#include "segment_local.h"

#include <stdlib.h>

#include "export.h"
#include "interrupt_flag.h"

enum {
    ALL_USERS = 0666, /* rights on segments that all users may connect to */
    CREATE_FLAGS = SCI_FLAG_USE_CALLBACK | SCI_FLAG_EMPTY | SCI_FLAG_PRIVATE | SCI_FLAG_PHYSICAL |
                   SCI_FLAG_AUTO_ID | SCI_FLAG_BROADCAST | SCI_FLAG_ALLOW_UNICAST |
                   SCI_FLAG_DMA_GLOBAL | SCI_FLAG_SHARED,
};

sci_error_t sisci_local_need_events(struct sisci_local_segment *segment)
{
    if (segment->source != NULL)
        return SCI_ERR_OK;
    if (segment->cancelled)
        return SCI_ERR_CANCELLED;
    struct sisci_local_source *source = calloc(1, sizeof *source);
    if (source == NULL)
        return SCI_ERR_NOSPC;
    struct rsmcore_export *exported = sisci_memory_export(segment->memory);
    enum rsm_status status =
        exported != NULL
            ? rsmcore_records_of_export(exported, &source->records)
            : rsmcore_records_of_import(sisci_memory_import(segment->memory), &source->records);
    if (status != RSM_ST_OK) {
        free(source);
        return sisci_error(SISCI_LOCAL, status);
    }
    segment->source = source;
    return SCI_ERR_OK;
}

struct call {
    struct sisci_local_source *source;
    struct sisci_event event;
    sci_callback_action_t answer;
};

static void call_program(void *argument)
{
    struct call *call = argument;
    call->answer = call->source->callback(call->source->argument, call->source->handle,
                                          call->event.reason, call->event.node, 0, SCI_ERR_OK);
}

static struct rsmcore_event *event_of(const void *bytes)
{
    const struct sisci_local_source *source = bytes;
    return rsmcore_records_event(source->records);
}

static enum sisci_turn take_turn(void *bytes)
{
    struct call call = {.source = bytes};
    if (atomic_load(&call.source->ended))
        return SISCI_TURN_LAST;
    enum rsm_status status = sisci_event_take(call.source->records, 0, &call.event);
    if (status != RSM_ST_OK)
        return sisci_event_turn(status);
    sisci_call_deep(call_program, &call);
    return call.answer != SCI_CALLBACK_CANCEL ? SISCI_TURN_AGAIN : SISCI_TURN_LAST;
}

static void finish(void *bytes)
{
    struct sisci_local_source *source = bytes;
    rsmcore_records_destroy(source->records);
    free(source);
}

static const struct sisci_listener_type listener_type = {
    .event = event_of, .take_turn = take_turn, .finish = finish};

static void cancel(struct sisci_object *object)
{
    struct sisci_local_segment *segment = (struct sisci_local_segment *)object;
    pthread_mutex_lock(&segment->lock);
    segment->cancelled = true;
    if (segment->source != NULL) {
        atomic_store(&segment->source->ended, true);
        rsmcore_records_cancel(segment->source->records);
    }
    pthread_mutex_unlock(&segment->lock);
    (void)sisci_memory_close(segment->memory, false);
}

static void release(struct sisci_object *object)
{
    struct sisci_local_segment *segment = (struct sisci_local_segment *)object;
    if (segment->listener != NULL)
        (void)sisci_listener_end(segment->listener);
    else if (segment->source != NULL)
        finish(segment->source);
    sisci_flags_end(segment->flags);
    sisci_memory_end(segment->memory);
    pthread_mutex_destroy(&segment->lock);
}

/* Addresses of the kernel's there are none. */
static sci_error_t query(struct sisci_object *object, unsigned subcommand,
                         unsigned long long *answer)
{
    uint32_t node;
    if (subcommand != SCI_Q_LOCAL_SEGMENT_IOADDR)
        return SCI_ERR_ILLEGAL_QUERY;
    sci_error_t error = sisci_error(SISCI_LOCAL, rsmcore_local_node(&node));
    if (error == SCI_ERR_OK)
        *answer = sisci_ioaddr(node, ((struct sisci_local_segment *)object)->id);
    return error;
}

const struct sisci_type sisci_local_type = {
    .kind = SISCI_LOCAL_SEGMENT, .cancel = cancel, .release = release, .query = query};

/* What a handle is asked for with. */
struct wanted {
    sci_cb_local_segment_t callback;
    void *argument;
    unsigned flags;
};

static sci_error_t start_listener(struct sisci_local_segment *segment, const struct wanted *wanted)
{
    pthread_mutex_lock(&segment->lock);
    sci_error_t error = sisci_local_need_events(segment);
    if (error == SCI_ERR_OK) {
        segment->source->callback = wanted->callback;
        segment->source->argument = wanted->argument;
        segment->source->handle = sisci_handle(&segment->object);
        error = sisci_listener_start(&listener_type, segment->source, &segment->listener);
    }
    pthread_mutex_unlock(&segment->lock);
    return error;
}

/* Give a segment that is complete its handle, and its listener. On error it is still there. */
static sci_error_t enter(struct sisci_object *desc, struct sisci_local_segment *segment,
                         const struct wanted *wanted, sci_local_segment_t *handle)
{
    bool calls_back = segment->calls_back;
    /* The program may know the handle before we return, from its callback, and end it there. */
    sci_error_t error =
        sisci_object_enter(&segment->object, &sisci_local_type, desc, (void **)handle);
    if (error != SCI_ERR_OK || !calls_back)
        return error;
    struct sisci_object *held = sisci_hold(*handle, SISCI_LOCAL_SEGMENT);
    error = held != NULL ? start_listener(segment, wanted) : SCI_ERR_ILLEGAL_PARAMETER;
    if (error == SCI_ERR_OK)
        sisci_drop(held);
    else if (held != NULL)
        (void)sisci_end(held, SISCI_END_ALL);
    return error;
}

/* Ids of groups are ids of their own. */
static enum rsm_id_space space_of(unsigned flags)
{
    return (flags & SCI_FLAG_BROADCAST) != 0 ? RSM_ID_SPACE_SISCI_GROUPS : RSM_ID_SPACE_SISCI;
}

static struct sisci_local_segment *new_segment(struct sisci_memory *memory, unsigned id,
                                               size_t size, unsigned flags)
{
    struct sisci_local_segment *segment = calloc(1, sizeof *segment);
    if (segment == NULL || memory == NULL) {
        free(segment);
        return NULL;
    }
    pthread_mutex_init(&segment->lock, NULL);
    segment->memory = memory;
    segment->id = id;
    segment->size = size;
    segment->space = space_of(flags);
    segment->is_empty = (flags & SCI_FLAG_EMPTY) != 0;
    segment->is_private = (flags & SCI_FLAG_PRIVATE) != 0;
    segment->calls_back = (flags & SCI_FLAG_USE_CALLBACK) != 0;
    return segment;
}

/* A handle of memory, which is NULL where there was none for it. */
static sci_error_t make_handle(struct sisci_object *desc, struct sisci_memory *memory, unsigned id,
                               size_t size, const struct wanted *wanted,
                               sci_local_segment_t *handle)
{
    struct sisci_local_segment *segment = new_segment(memory, id, size, wanted->flags);
    if (segment == NULL)
        return SCI_ERR_NOSPC;
    sci_error_t error = enter(desc, segment, wanted, handle);
    if (error == SCI_ERR_OK || *handle != NULL) /* ... and then it has been ended */
        return error;
    pthread_mutex_destroy(&segment->lock);
    free(segment);
    return error;
}

/* The memory has the fabric of adapter 0. */
static enum rsm_status make_export(size_t size, unsigned flags, struct rsmcore_claim *claim,
                                   struct rsmcore_export **exported)
{
    struct rsmcore_controller *controller;
    sci_error_t error = sisci_adapter_open(0, &controller);
    if (error != SCI_ERR_OK)
        return error == SCI_ERR_NOSPC ? RSM_ST_NO_MEMORY : RSM_ST_UNREACHABLE;
    enum rsm_status status =
        (flags & SCI_FLAG_EMPTY) != 0
            ? rsmcore_export_create_empty(controller, size != 0 ? size : 1, ALL_USERS, claim,
                                          exported)
            : rsmcore_export_allocate(controller, size, ALL_USERS, claim, exported);
    rsmcore_controller_close(controller);
    return status;
}

static sci_error_t create(struct sisci_object *desc, unsigned id, size_t size,
                          const struct wanted *wanted, sci_local_segment_t *handle)
{
    struct rsmcore_export *exported;
    struct rsmcore_claim claim = {.space = space_of(wanted->flags),
                                  .id = id,
                                  .assign = (wanted->flags & SCI_FLAG_AUTO_ID) != 0};
    enum rsm_status status = make_export(size, wanted->flags, &claim, &exported);
    if (status != RSM_ST_OK)
        return sisci_error(SISCI_LOCAL, status);
    struct sisci_memory *memory = sisci_memory_of_export(exported);
    if (memory == NULL)
        (void)rsmcore_export_destroy(exported, RSMCORE_DESTROY_CUT);
    sci_error_t error = make_handle(desc, memory, claim.id, size, wanted, handle);
    if (error == SCI_ERR_OK && (wanted->flags & SCI_FLAG_SHARED) != 0) {
        SCIShareSegment(*handle, 0, &error);
        if (error != SCI_ERR_OK)
            SCIRemoveSegment(*handle, SCI_FLAG_FORCE_REMOVE, NULL);
    }
    if (error != SCI_ERR_OK && memory != NULL && *handle == NULL)
        sisci_memory_end(memory);
    return error;
}

static sci_error_t check_wanted(const struct wanted *wanted)
{
    bool broadcast = (wanted->flags & SCI_FLAG_BROADCAST) != 0;
    if ((wanted->flags & SCI_FLAG_PHYSICAL) != 0)
        return SCI_ERR_FLAG_NOT_IMPLEMENTED;
    if ((wanted->flags & (broadcast ? SCI_FLAG_AUTO_ID : SCI_FLAG_ALLOW_UNICAST)) != 0)
        return SCI_ERR_ILLEGAL_FLAG;
    if ((wanted->flags & SCI_FLAG_USE_CALLBACK) != 0 && wanted->callback == NULL)
        return SCI_ERR_ILLEGAL_PARAMETER;
    return SCI_ERR_OK;
}

SISCI_API(void, SCICreateSegment)
(sci_desc_t sd, sci_local_segment_t *segment, unsigned int segmentId, size_t size,
 sci_cb_local_segment_t callback, void *callbackArg, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    const struct wanted wanted = {callback, callbackArg, flags};
    sci_local_segment_t made = NULL;
    sci_error_t result = sisci_check(flags, CREATE_FLAGS);
    if (result == SCI_ERR_OK)
        result = segment == NULL ? SCI_ERR_ILLEGAL_PARAMETER : check_wanted(&wanted);
    if (result == SCI_ERR_OK && size == 0 && (flags & SCI_FLAG_EMPTY) == 0)
        result = SCI_ERR_SIZE_ALIGNMENT;
    struct sisci_object *desc = sisci_need(sd, SISCI_DESC, &result);
    if (desc != NULL) {
        result = create(desc, segmentId, size, &wanted, &made);
        sisci_drop(desc);
    }
    if (segment != NULL)
        *segment = result == SCI_ERR_OK ? made : NULL;
    sisci_report(error, result);
}

static sci_error_t attach(struct sisci_object *desc, unsigned id, size_t *size,
                          const struct wanted *wanted, sci_local_segment_t *handle)
{
    struct rsmcore_controller *controller;
    struct rsmcore_import *import;
    sci_error_t error = sisci_adapter_open(0, &controller);
    if (error != SCI_ERR_OK)
        return error;
    enum rsm_status status =
        rsmcore_import_attach(controller, space_of(wanted->flags), id, &import);
    rsmcore_controller_close(controller);
    if (status != RSM_ST_OK)
        return status == RSM_ST_NOT_PUBLISHED ? SCI_ERR_ILLEGAL_OPERATION
                                              : sisci_error(SISCI_LOCAL, status);
    size_t reported = (size_t)import->size;
    struct sisci_memory *memory = sisci_memory_of_import(import);
    if (memory == NULL)
        rsmcore_import_disconnect(import);
    error = make_handle(desc, memory, id, reported, wanted, handle);
    if (error != SCI_ERR_OK && memory != NULL && *handle == NULL)
        sisci_memory_end(memory);
    if (error == SCI_ERR_OK && size != NULL)
        *size = reported;
    return error;
}

SISCI_API(void, SCIAttachLocalSegment)
(sci_desc_t sd, sci_local_segment_t *segment, unsigned int segmentId, size_t *size,
 sci_cb_local_segment_t callback, void *callbackArg, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    const struct wanted wanted = {callback, callbackArg, flags};
    sci_local_segment_t made = NULL;
    sci_error_t result = sisci_check(flags, SCI_FLAG_USE_CALLBACK | SCI_FLAG_BROADCAST);
    if (result == SCI_ERR_OK)
        result = segment == NULL ? SCI_ERR_ILLEGAL_PARAMETER : check_wanted(&wanted);
    struct sisci_object *desc = sisci_need(sd, SISCI_DESC, &result);
    if (desc != NULL) {
        result = attach(desc, segmentId, size, &wanted, &made);
        sisci_drop(desc);
    }
    if (segment != NULL)
        *segment = result == SCI_ERR_OK ? made : NULL;
    sisci_report(error, result);
}

SISCI_API(void, SCIRemoveSegment)
(sci_local_segment_t segment, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sci_error_t result = sisci_check(flags, SCI_FLAG_FORCE_REMOVE);
    struct sisci_local_segment *held = sisci_need_to_end(segment, SISCI_LOCAL_SEGMENT, &result);
    if (held != NULL) {
        result = sisci_memory_close(held->memory, (flags & SCI_FLAG_FORCE_REMOVE) == 0);
        if (result == SCI_ERR_OK)
            result = sisci_end(&held->object, SISCI_END_ALL);
        else
            sisci_drop(&held->object);
    }
    sisci_report(error, result);
}

SISCI_API(size_t, SCIGetLocalSegmentSize)(sci_local_segment_t segment)
{
    RSM_CANCEL_DEFERRED;
    struct sisci_local_segment *held = sisci_hold(segment, SISCI_LOCAL_SEGMENT);
    size_t size = held != NULL ? held->size : 0;
    if (held != NULL)
        sisci_drop(&held->object);
    return size;
}

SISCI_API(unsigned int, SCIGetLocalSegmentId)(sci_local_segment_t segment)
{
    RSM_CANCEL_DEFERRED;
    struct sisci_local_segment *held = sisci_hold(segment, SISCI_LOCAL_SEGMENT);
    unsigned id = held != NULL ? held->id : 0;
    if (held != NULL)
        sisci_drop(&held->object);
    return id;
}

struct local_wait {
    struct rsmcore_records *records;
    struct sisci_event event;
};

static enum rsm_status take_event(void *argument, int timeout_ms)
{
    struct local_wait *wait = argument;
    return sisci_event_take(wait->records, timeout_ms, &wait->event);
}

static sci_error_t have_events(struct sisci_local_segment *segment)
{
    RSM_UNCANCELLABLE;
    pthread_mutex_lock(&segment->lock);
    sci_error_t error = sisci_local_need_events(segment);
    pthread_mutex_unlock(&segment->lock);
    return error;
}

static sci_error_t wait_for_event(struct sisci_local_segment *segment, unsigned timeout,
                                  struct sisci_event *event)
{
    if (segment->calls_back)
        return SCI_ERR_ILLEGAL_OPERATION;
    sci_error_t error = have_events(segment);
    if (error != SCI_ERR_OK)
        return error;
    struct local_wait wait = {.records = segment->source->records};
    enum rsm_status status = sisci_wait(&segment->object, timeout, take_event, &wait);
    if (status == RSM_ST_NO_RESOURCES)
        return SCI_ERR_OVERFLOW;
    *event = wait.event;
    return sisci_error(SISCI_WAIT, status);
}

SISCI_API(sci_segment_cb_reason_t, SCIWaitForLocalSegmentEvent)
(sci_local_segment_t segment, unsigned int *sourceNodeId, unsigned int *localAdapterNo,
 unsigned int timeout, unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    struct sisci_event event = {.reason = (sci_segment_cb_reason_t)0};
    sci_error_t result = sisci_check(flags, 0);
    struct sisci_local_segment *held = sisci_need(segment, SISCI_LOCAL_SEGMENT, &result);
    if (held != NULL) {
        result = wait_for_event(held, timeout, &event);
        sisci_drop(&held->object);
    }
    if (result == SCI_ERR_OK && sourceNodeId != NULL)
        *sourceNodeId = event.node;
    if (result == SCI_ERR_OK && localAdapterNo != NULL)
        *localAdapterNo = 0;
    sisci_report(error, result);
    return event.reason;
}
