/* SPDX-License-Identifier: BSD-3-Clause */
/* SCIRegisterInterruptFlag(), and what is done with conditional interrupts. */
#include "interrupt_flag.h"

#include <stdlib.h>
#include <unistd.h>

#include "adapter.h"
#include "export.h"
#include "interrupt_local.h"
#include "listener.h"
#include "segment_local.h"
#include "stores.h"

enum {
    REGISTER_FLAGS = SCI_FLAG_USE_CALLBACK | SCI_FLAG_CONDITIONAL_INTERRUPT | SCI_FLAG_COUNTING_INT,
    FLAG_BYTES = 4,
    MODE = 0666,      /* who may write the segment may say that he has */
    PAUSE_US = 10000, /* after a failure that may pass */
};

struct sisci_flag {
    struct sisci_flags *all;
    unsigned offset;
    bool conditional;
    /* Guarded by the lock of all: */
    struct rsmcore_interrupt *raised; /* NULL: not begun */
    struct sisci_flag *next;
    bool enabled;
    bool missed;       /* a store came while it was not */
    unsigned counter;  /* of stores, since it was enabled or disabled */
    bool has_overflow; /* there were more */
};

struct sisci_flags {
    struct rsmcore_interrupt *stores; /* brings what was stored */
    struct sisci_listener *listener;
    pthread_mutex_t lock; /* guards what follows */
    struct sisci_flag *first;
};

/* ------------------------------------------------------------------ stores that come in */

static void note(struct sisci_flag *flag, bool unconditional)
{
    if (flag->counter < UINT32_MAX)
        flag->counter++;
    else
        flag->has_overflow = true;
    if (flag->conditional && !unconditional && !flag->enabled) {
        flag->missed = true;
        return;
    }
    if (!unconditional)
        flag->enabled = false;
    rsmcore_interrupt_raise(flag->raised);
}

static void deliver(struct sisci_flags *flags, const struct sisci_stores *stores)
{
    pthread_mutex_lock(&flags->lock);
    for (struct sisci_flag *flag = flags->first; flag != NULL; flag = flag->next)
        for (unsigned i = 0; i < stores->count; i++)
            if (sisci_store_touches(&stores->store[i], flag->offset, FLAG_BYTES))
                note(flag, stores->unconditional);
    pthread_mutex_unlock(&flags->lock);
}

static struct rsmcore_event *event_of(const void *argument)
{
    const struct sisci_flags *flags = argument;
    return rsmcore_interrupt_event(flags->stores);
}

static enum sisci_turn take_turn(void *argument)
{
    struct sisci_flags *flags = argument;
    struct sisci_stores stores;
    uint8_t bytes[SISCI_STORES_BYTES];
    size_t length = sizeof bytes;
    switch (rsmcore_interrupt_wait(flags->stores, 0, bytes, &length)) {
    case RSM_ST_OK:
        if (sisci_stores_read(&stores, bytes, length))
            deliver(flags, &stores);
        return SISCI_TURN_AGAIN;
    case RSM_ST_STALE: /* cancelled, or the daemon has gone */
        return SISCI_TURN_LAST;
    case RSM_ST_TIMEOUT:
        return SISCI_TURN_IDLE;
    default:
        usleep(PAUSE_US);
        return SISCI_TURN_AGAIN;
    }
}

static void finish(void *argument)
{
    struct sisci_flags *flags = argument;
    rsmcore_interrupt_remove(flags->stores);
    pthread_mutex_destroy(&flags->lock);
    free(flags);
}

static const struct sisci_listener_type listener_type = {
    .event = event_of, .take_turn = take_turn, .finish = finish};

/* ------------------------------------------------------------------ flags of a segment */

/* Processes that have attached to the segment have flags of it, too. */
static sci_error_t start(struct sisci_flags *flags, unsigned id)
{
    uint32_t number = id;
    enum rsm_status status = rsmcore_interrupt_create(RSM_INTERRUPT_STORES, &number,
                                                      RSM_INTERRUPT_SHARED, MODE, &flags->stores);
    if (status == RSM_ST_INVALID)
        return SCI_ERR_NOT_SUPPORTED; /* by a daemon that does not know the kind */
    if (status == RSM_ST_DENIED)
        return SCI_ERR_CONNECTION_REFUSED;
    if (status != RSM_ST_OK)
        return sisci_error(SISCI_LOCAL, status);
    sci_error_t error = sisci_listener_start(&listener_type, flags, &flags->listener);
    if (error != SCI_ERR_OK)
        rsmcore_interrupt_remove(flags->stores);
    return error;
}

/* Called with the segment's lock held. */
static sci_error_t need_flags(struct sisci_local_segment *segment)
{
    if (segment->flags != NULL)
        return SCI_ERR_OK;
    struct sisci_flags *made = calloc(1, sizeof *made);
    if (made == NULL)
        return SCI_ERR_NOSPC;
    pthread_mutex_init(&made->lock, NULL);
    sci_error_t error = start(made, segment->id);
    if (error == SCI_ERR_OK) {
        segment->flags = made;
        return SCI_ERR_OK;
    }
    pthread_mutex_destroy(&made->lock);
    free(made);
    return error;
}

void sisci_flags_end(struct sisci_flags *flags)
{
    if (flags == NULL)
        return;
    rsmcore_interrupt_withdraw(flags->stores);
    rsmcore_interrupt_cancel(flags->stores);
    (void)sisci_listener_end(flags->listener);
}

void sisci_flag_begin(struct sisci_flag *flag, struct rsmcore_interrupt *raised)
{
    pthread_mutex_lock(&flag->all->lock);
    flag->raised = raised;
    flag->next = flag->all->first;
    flag->all->first = flag;
    pthread_mutex_unlock(&flag->all->lock);
}

void sisci_flag_end(struct sisci_flag *flag)
{
    pthread_mutex_lock(&flag->all->lock);
    struct sisci_flag **at = &flag->all->first;
    while (*at != NULL && *at != flag)
        at = &(*at)->next;
    if (*at != NULL)
        *at = flag->next;
    pthread_mutex_unlock(&flag->all->lock);
    free(flag);
}

/* ------------------------------------------------------------------ the functions */

static sci_error_t check_place(const struct sisci_local_segment *segment, unsigned offset)
{
    if (segment->is_private || segment->space != RSM_ID_SPACE_SISCI)
        return SCI_ERR_ILLEGAL_OPERATION;
    if (offset % FLAG_BYTES != 0)
        return SCI_ERR_OFFSET_ALIGNMENT;
    return segment->size >= FLAG_BYTES && offset <= segment->size - FLAG_BYTES
               ? SCI_ERR_OK
               : SCI_ERR_OUT_OF_RANGE;
}

/* The interrupt has a number like any other, by which no process may trigger it. */
static sci_error_t make(struct sisci_local_segment *segment, unsigned offset,
                        const struct sisci_interrupt_callback *callback, unsigned flags,
                        void **handle)
{
    struct sisci_flag *flag = calloc(1, sizeof *flag);
    if (flag == NULL)
        return SCI_ERR_NOSPC;
    pthread_mutex_lock(&segment->lock);
    sci_error_t error = need_flags(segment);
    flag->all = segment->flags;
    pthread_mutex_unlock(&segment->lock);
    if (error != SCI_ERR_OK) {
        free(flag);
        return error;
    }
    flag->offset = offset;
    flag->conditional = flag->enabled = (flags & SCI_FLAG_CONDITIONAL_INTERRUPT) != 0;
    struct sisci_interrupt_wanted wanted = {
        .kind = SISCI_LOCAL_INTERRUPT,
        .flags = RSM_INTERRUPT_ASSIGN_NUMBER,
        .callback = (flags & SCI_FLAG_USE_CALLBACK) != 0 ? callback : NULL,
        .flag = flag};
    return sisci_interrupt_make(&segment->object, &wanted, handle);
}

SISCI_API(void, SCIRegisterInterruptFlag)
(unsigned int localAdapterNo, sci_local_interrupt_t *interrupt, sci_local_segment_t segment,
 unsigned int offset, sci_cb_interrupt_t callback, void *callbackArg, unsigned int flags,
 sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    const struct sisci_interrupt_callback called = {.plain = callback, .argument = callbackArg};
    if (interrupt != NULL)
        *interrupt = NULL;
    sci_error_t result = sisci_check(flags, REGISTER_FLAGS);
    if (result == SCI_ERR_OK &&
        (interrupt == NULL || ((flags & SCI_FLAG_USE_CALLBACK) != 0 && callback == NULL)))
        result = SCI_ERR_ILLEGAL_PARAMETER;
    if (result == SCI_ERR_OK)
        result = sisci_adapter_check(localAdapterNo);
    struct sisci_local_segment *held = sisci_need(segment, SISCI_LOCAL_SEGMENT, &result);
    if (held != NULL) {
        result = check_place(held, offset);
        if (result == SCI_ERR_OK)
            result = make(held, offset, &called, flags, (void **)interrupt);
        sisci_drop(&held->object);
    }
    if (result != SCI_ERR_OK && interrupt != NULL)
        *interrupt = NULL;
    sisci_report(error, result);
}

static sci_error_t enable(struct sisci_flag *flag)
{
    if (!flag->conditional)
        return SCI_ERR_ILLEGAL_OPERATION;
    if (flag->missed) {
        flag->missed = false;
        return SCI_ERR_COND_INT_RACE_PROBLEM;
    }
    flag->enabled = true;
    flag->counter = 0;
    flag->has_overflow = false;
    return SCI_ERR_OK;
}

static sci_error_t disable(struct sisci_flag *flag)
{
    if (!flag->conditional)
        return SCI_ERR_ILLEGAL_OPERATION;
    flag->enabled = flag->missed = false;
    flag->counter = 0;
    flag->has_overflow = false;
    return SCI_ERR_OK;
}

static sci_error_t count(struct sisci_flag *flag, unsigned *counter)
{
    *counter = flag->counter;
    return flag->has_overflow ? SCI_ERR_OVERFLOW : SCI_ERR_OK;
}

/* What a program wants of a flag: a change, or else what the counter says. */
struct request {
    sci_error_t (*change)(struct sisci_flag *flag);
    unsigned *counter;
};

static sci_error_t with_flag(const void *handle, unsigned flags, const struct request *request)
{
    sci_error_t result = sisci_check(flags, 0);
    if (result == SCI_ERR_OK && request->change == NULL && request->counter == NULL)
        result = SCI_ERR_ILLEGAL_PARAMETER;
    struct sisci_local_interrupt *held = sisci_need(handle, SISCI_LOCAL_INTERRUPT, &result);
    if (held == NULL)
        return result;
    result = SCI_ERR_ILLEGAL_OPERATION;
    if (held->flag != NULL) {
        pthread_mutex_lock(&held->flag->all->lock);
        if (request->counter != NULL)
            result = count(held->flag, request->counter);
        else if (request->change != NULL)
            result = request->change(held->flag);
        pthread_mutex_unlock(&held->flag->all->lock);
    }
    sisci_drop(&held->object);
    return result;
}

SISCI_API(void, SCIEnableConditionalInterrupt)
(sci_local_interrupt_t interrupt, unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sisci_report(error, with_flag(interrupt, flags, &(struct request){.change = enable}));
}

SISCI_API(void, SCIDisableConditionalInterrupt)
(sci_local_interrupt_t interrupt, unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sisci_report(error, with_flag(interrupt, flags, &(struct request){.change = disable}));
}

SISCI_API(void, SCIGetConditionalInterruptTrigCounter)
(sci_local_interrupt_t interrupt, unsigned int *interruptTrigCounter, unsigned int flags,
 sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sisci_report(error,
                 with_flag(interrupt, flags, &(struct request){.counter = interruptTrigCounter}));
}
