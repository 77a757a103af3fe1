/* SPDX-License-Identifier: BSD-3-Clause */
#include "interrupt_local.h"

#include <stdlib.h>
#include <unistd.h>

#include "adapter.h"
#include "export.h"
#include "interrupt_flag.h"
#include "listener.h"

enum {
    CREATE_FLAGS = SCI_FLAG_USE_CALLBACK | SCI_FLAG_FIXED_INTNO | SCI_FLAG_SHARED_INT,
    MODE = 0666,      /* every user may trigger it */
    PAUSE_US = 10000, /* after a failure that may pass */
};

/* What a callback needs. It outlasts the interrupt where that is removed in its own callback. */
struct sisci_interrupt_source {
    struct rsmcore_interrupt *core;
    void *handle;
    struct sisci_interrupt_callback callback;
    bool has_data;
    bool again; /* what the callback has said */
    size_t length;
    unsigned char data[RSM_INTERRUPT_DATA_MAX];
};

static struct sisci_local_interrupt *interrupt_of(struct sisci_object *object)
{
    return (struct sisci_local_interrupt *)object; /* its first member */
}

static void call_back(void *argument)
{
    struct sisci_interrupt_source *source = argument;
    const struct sisci_interrupt_callback *callback = &source->callback;
    sci_callback_action_t action =
        source->has_data ? callback->data(callback->argument, source->handle, source->data,
                                          (unsigned)source->length, SCI_ERR_OK)
                         : callback->plain(callback->argument, source->handle, SCI_ERR_OK);
    source->again = action != SCI_CALLBACK_CANCEL;
}

static struct rsmcore_event *event_of(const void *argument)
{
    const struct sisci_interrupt_source *source = argument;
    return rsmcore_interrupt_event(source->core);
}

static enum sisci_turn take_turn(void *argument)
{
    struct sisci_interrupt_source *source = argument;
    source->length = source->has_data ? sizeof source->data : 0;
    switch (rsmcore_interrupt_wait(source->core, 0, source->has_data ? source->data : NULL,
                                   source->has_data ? &source->length : NULL)) {
    case RSM_ST_OK:
        sisci_call_deep(call_back, source);
        return source->again ? SISCI_TURN_AGAIN : SISCI_TURN_LAST;
    case RSM_ST_STALE: /* removed, or the daemon has gone */
        return SISCI_TURN_LAST;
    case RSM_ST_TIMEOUT:
        return SISCI_TURN_IDLE;
    default:
        usleep(PAUSE_US);
        return SISCI_TURN_AGAIN;
    }
}

static void finish_source(void *argument)
{
    struct sisci_interrupt_source *source = argument;
    rsmcore_interrupt_remove(source->core);
    free(source);
}

static const struct sisci_listener_type listener_type = {
    .event = event_of, .take_turn = take_turn, .finish = finish_source};

static void cancel(struct sisci_object *object)
{
    struct sisci_local_interrupt *interrupt = interrupt_of(object);
    rsmcore_interrupt_withdraw(interrupt->core);
    rsmcore_interrupt_cancel(interrupt->core);
}

static void release(struct sisci_object *object)
{
    struct sisci_local_interrupt *interrupt = interrupt_of(object);
    if (interrupt->flag != NULL)
        sisci_flag_end(interrupt->flag);
    if (interrupt->listener != NULL) {
        (void)sisci_listener_end(interrupt->listener);
        return;
    }
    rsmcore_interrupt_remove(interrupt->core);
    free(interrupt->source);
}

static const struct sisci_type plain_type = {
    .kind = SISCI_LOCAL_INTERRUPT, .cancel = cancel, .release = release};
static const struct sisci_type data_type = {
    .kind = SISCI_LOCAL_DATA_INTERRUPT, .cancel = cancel, .release = release};

static const struct sisci_type *type_of(enum sisci_kind kind)
{
    return kind == SISCI_LOCAL_INTERRUPT ? &plain_type : &data_type;
}

static struct sisci_interrupt_source *make_source(const struct sisci_local_interrupt *interrupt,
                                                  enum sisci_kind kind,
                                                  const struct sisci_interrupt_callback *callback)
{
    struct sisci_interrupt_source *source = calloc(1, sizeof *source);
    if (source == NULL)
        return NULL;
    source->core = interrupt->core;
    source->callback = *callback;
    source->has_data = kind == SISCI_LOCAL_DATA_INTERRUPT;
    return source;
}

/* All but the core's part; on failure the caller gives that up. */
static sci_error_t enter(struct sisci_local_interrupt *interrupt, struct sisci_object *owner,
                         const struct sisci_interrupt_wanted *wanted, void **handle)
{
    const struct sisci_interrupt_callback *callback = wanted->callback;
    if (callback != NULL &&
        (interrupt->source = make_source(interrupt, wanted->kind, callback)) == NULL)
        return SCI_ERR_NOSPC;
    sci_error_t error =
        sisci_object_enter(&interrupt->object, type_of(wanted->kind), owner, handle);
    if (error != SCI_ERR_OK)
        free(interrupt->source);
    return error;
}

/* The interrupt is held meanwhile: its callback may remove it at once. */
static sci_error_t listen_to(struct sisci_local_interrupt *interrupt, void *handle,
                             enum sisci_kind kind)
{
    struct sisci_object *object = sisci_hold(handle, kind);
    if (object == NULL)
        return SCI_ERR_ILLEGAL_PARAMETER; /* another thread has removed it */
    interrupt->source->handle = handle;
    sci_error_t error =
        sisci_listener_start(&listener_type, interrupt->source, &interrupt->listener);
    if (error == SCI_ERR_OK)
        sisci_drop(object);
    else
        (void)sisci_end(object, SISCI_END_ALL);
    return error;
}

static sci_error_t make_core(struct sisci_local_interrupt *interrupt,
                             struct sisci_interrupt_wanted *wanted)
{
    enum rsm_interrupt_kind kind =
        wanted->kind == SISCI_LOCAL_INTERRUPT ? RSM_INTERRUPT_PLAIN : RSM_INTERRUPT_DATA;
    return sisci_error(SISCI_LOCAL, rsmcore_interrupt_create(kind, &wanted->number, wanted->flags,
                                                             wanted->mode, &interrupt->core));
}

/* One that no program knows. */
static void give_up(struct sisci_local_interrupt *interrupt)
{
    if (interrupt->flag != NULL)
        sisci_flag_end(interrupt->flag);
    if (interrupt->core != NULL)
        rsmcore_interrupt_remove(interrupt->core);
    free(interrupt);
}

sci_error_t sisci_interrupt_make(struct sisci_object *owner, struct sisci_interrupt_wanted *wanted,
                                 void **handle)
{
    struct sisci_local_interrupt *interrupt = calloc(1, sizeof *interrupt);
    if (interrupt == NULL) {
        if (wanted->flag != NULL)
            sisci_flag_end(wanted->flag);
        return SCI_ERR_NOSPC;
    }
    void *made;
    interrupt->flag = wanted->flag;
    sci_error_t error = make_core(interrupt, wanted);
    if (error == SCI_ERR_OK && wanted->flag != NULL)
        sisci_flag_begin(wanted->flag, interrupt->core);
    if (error == SCI_ERR_OK)
        error = enter(interrupt, owner, wanted, &made);
    if (error != SCI_ERR_OK) {
        give_up(interrupt);
        return error;
    }
    *handle = made;
    return wanted->callback != NULL ? listen_to(interrupt, made, wanted->kind) : SCI_ERR_OK;
}

static sci_error_t check_create(unsigned adapter, const unsigned *number, enum sisci_kind kind,
                                const struct sisci_interrupt_callback *callback, unsigned flags)
{
    bool has_callback =
        kind == SISCI_LOCAL_INTERRUPT ? callback->plain != NULL : callback->data != NULL;
    unsigned known = CREATE_FLAGS;
    if (kind == SISCI_LOCAL_INTERRUPT)
        known |= SCI_FLAG_COUNTING_INT; /* which all of them are */
    sci_error_t error = sisci_check(flags, known);
    if (error != SCI_ERR_OK)
        return error;
    if (number == NULL || ((flags & SCI_FLAG_USE_CALLBACK) != 0 && !has_callback))
        return SCI_ERR_ILLEGAL_PARAMETER;
    return sisci_adapter_check(adapter);
}

/* @p number is unchanged on error. @p handle is the program's variable, maybe NULL. It is set
 * before the callback is called, and is NULL on error. */
static sci_error_t create(sci_desc_t sd, enum sisci_kind kind, unsigned adapter, unsigned *number,
                          const struct sisci_interrupt_callback *callback, unsigned flags,
                          void **handle)
{
    if (handle != NULL)
        *handle = NULL;
    sci_error_t error = check_create(adapter, number, kind, callback, flags);
    if (error == SCI_ERR_OK && handle == NULL)
        error = SCI_ERR_ILLEGAL_PARAMETER;
    if (error != SCI_ERR_OK)
        return error;
    struct sisci_object *desc = sisci_need(sd, SISCI_DESC, &error);
    if (desc == NULL)
        return error;
    struct sisci_interrupt_wanted wanted = {
        .kind = kind,
        .number = *number,
        .flags = ((flags & SCI_FLAG_FIXED_INTNO) == 0 ? RSM_INTERRUPT_ASSIGN_NUMBER : 0) |
                 ((flags & SCI_FLAG_SHARED_INT) != 0 ? RSM_INTERRUPT_SHARED : 0),
        .mode = MODE,
        .callback = (flags & SCI_FLAG_USE_CALLBACK) != 0 ? callback : NULL};
    error = sisci_interrupt_make(desc, &wanted, handle);
    sisci_drop(desc);
    if (error == SCI_ERR_OK)
        *number = wanted.number;
    else
        *handle = NULL;
    return error;
}

struct wait {
    struct rsmcore_interrupt *core;
    void *data;
    size_t room, length;
    bool has_data;
};

static enum rsm_status attempt(void *argument, int timeout_ms)
{
    struct wait *wait = argument;
    wait->length = wait->room;
    return rsmcore_interrupt_wait(wait->core, timeout_ms, wait->data,
                                  wait->has_data ? &wait->length : NULL);
}

/* @p length is NULL for a plain one. */
static sci_error_t wait_for(const void *handle, enum sisci_kind kind, void *data, unsigned *length,
                            unsigned timeout, unsigned flags)
{
    sci_error_t error = sisci_check(flags, 0);
    if (error != SCI_ERR_OK)
        return error;
    bool has_data = kind == SISCI_LOCAL_DATA_INTERRUPT;
    if (has_data && (length == NULL || (data == NULL && *length > 0)))
        return SCI_ERR_ILLEGAL_PARAMETER;
    struct sisci_object *object = sisci_need(handle, kind, &error);
    if (object == NULL)
        return error;
    struct sisci_local_interrupt *interrupt = interrupt_of(object);
    struct wait wait = {.core = interrupt->core,
                        .data = data,
                        .room = has_data ? *length : 0,
                        .has_data = has_data};
    if (interrupt->source != NULL)
        error = SCI_ERR_ILLEGAL_OPERATION;
    else
        error = sisci_error(SISCI_WAIT, sisci_wait(object, timeout, attempt, &wait));
    sisci_drop(object);
    if (error == SCI_ERR_OK && has_data)
        *length = (unsigned)wait.length;
    return error;
}

SISCI_API(void, SCICreateInterrupt)
(sci_desc_t sd, sci_local_interrupt_t *interrupt, unsigned int localAdapterNo,
 unsigned int *interruptNo, sci_cb_interrupt_t callback, void *callbackArg, unsigned int flags,
 sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    const struct sisci_interrupt_callback called = {.plain = callback, .argument = callbackArg};
    sisci_report(error, create(sd, SISCI_LOCAL_INTERRUPT, localAdapterNo, interruptNo, &called,
                               flags, (void **)interrupt));
}

SISCI_API(void, SCIRemoveInterrupt)
(sci_local_interrupt_t interrupt, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sisci_report(error, sisci_remove(interrupt, SISCI_LOCAL_INTERRUPT, flags));
}

SISCI_API(void, SCIWaitForInterrupt)
(sci_local_interrupt_t interrupt, unsigned int timeout, unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sisci_report(error, wait_for(interrupt, SISCI_LOCAL_INTERRUPT, NULL, NULL, timeout, flags));
}

SISCI_API(void, SCICreateDataInterrupt)
(sci_desc_t sd, sci_local_data_interrupt_t *interrupt, unsigned int localAdapterNo,
 unsigned int *interruptNo, sci_cb_data_interrupt_t callback, void *callbackArg, unsigned int flags,
 sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    const struct sisci_interrupt_callback called = {.data = callback, .argument = callbackArg};
    sisci_report(error, create(sd, SISCI_LOCAL_DATA_INTERRUPT, localAdapterNo, interruptNo, &called,
                               flags, (void **)interrupt));
}

SISCI_API(void, SCIRemoveDataInterrupt)
(sci_local_data_interrupt_t interrupt, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sisci_report(error, sisci_remove(interrupt, SISCI_LOCAL_DATA_INTERRUPT, flags));
}

SISCI_API(void, SCIWaitForDataInterrupt)
(sci_local_data_interrupt_t interrupt, void *data, unsigned int *length, unsigned int timeout,
 unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sisci_report(error,
                 wait_for(interrupt, SISCI_LOCAL_DATA_INTERRUPT, data, length, timeout, flags));
}
