/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/interrupt.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/event_internal.h"
#include "core/mailbox.h"
#include "core/controller_ports.h"

struct rsmcore_interrupt {
    struct rsmcore_mailbox mailbox; /* unused for a plain interrupt */
    enum rsm_interrupt_kind kind;
    unsigned process_epoch;
    atomic_bool withdrawn; /* rsmd has forgotten it */
};

struct rsmcore_trigger {
    struct rsmcore_control *control;
    uint32_t node;
    enum rsm_interrupt_kind kind;
    uint32_t number;
    uint32_t id;
    unsigned process_epoch;
    struct rsm_event_counter *counter; /* the interrupt's, to be posted to; NULL: rsmd does that */
};

static void unregister(struct rsmcore_control *control, uint32_t id)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_INTERRUPT_REMOVE);
    msg.u.interrupt_remove.interrupt = id;
    /* A failure means that rsmd has gone, and the interrupt with it. */
    (void)rsmcore_control_call(control, &msg, NULL);
}

static enum rsm_status begin(struct rsmcore_interrupt *interrupt, struct rsmcore_control *control,
                             uint32_t *number, uint32_t flags, unsigned mode)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_INTERRUPT_CREATE);
    msg.u.interrupt_create = (struct rsm_interrupt_create_request){
        .kind = interrupt->kind, .number = *number, .flags = flags, .mode = mode};
    enum rsm_status status = rsmcore_control_call(control, &msg, NULL);
    if (status != RSM_ST_OK)
        return status;
    const struct rsm_interrupt_create_reply reply = msg.u.interrupt_create_reply;
    status =
        rsmcore_mailbox_open(&interrupt->mailbox, control, RSM_EVENT_INTERRUPT, reply.interrupt);
    if (status != RSM_ST_OK)
        unregister(control, reply.interrupt);
    else
        *number = reply.number;
    return status;
}

enum rsm_status rsmcore_interrupt_create(enum rsm_interrupt_kind kind, uint32_t *number,
                                         uint32_t flags, unsigned mode,
                                         struct rsmcore_interrupt **interrupt)
{
    struct rsmcore_control *control = NULL;
    struct rsmcore_interrupt *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->kind = kind;
    made->process_epoch = rsmcore_process_epoch();
    enum rsm_status status = rsmcore_control_local(&control);
    if (status == RSM_ST_OK)
        status = begin(made, control, number, flags, mode);
    rsmcore_control_release(control);
    if (status == RSM_ST_OK)
        *interrupt = made;
    else
        free(made);
    return status;
}

void rsmcore_interrupt_withdraw(struct rsmcore_interrupt *interrupt)
{
    if (interrupt->process_epoch == rsmcore_process_epoch() &&
        !atomic_exchange(&interrupt->withdrawn, true))
        unregister(interrupt->mailbox.control, interrupt->mailbox.id);
}

void rsmcore_interrupt_remove(struct rsmcore_interrupt *interrupt)
{
    rsmcore_interrupt_withdraw(interrupt);
    rsmcore_mailbox_close(&interrupt->mailbox);
    free(interrupt);
}

void rsmcore_interrupt_cancel(struct rsmcore_interrupt *interrupt)
{
    rsmcore_event_cancel(interrupt->mailbox.event);
}

void rsmcore_interrupt_raise(struct rsmcore_interrupt *interrupt)
{
    rsmcore_event_raise(interrupt->mailbox.event, 1, false);
}

enum rsm_status rsmcore_interrupt_descriptor(struct rsmcore_interrupt *interrupt, int *fd)
{
    return rsmcore_event_descriptor(interrupt->mailbox.event, fd);
}

struct rsmcore_event *rsmcore_interrupt_event(const struct rsmcore_interrupt *interrupt)
{
    return interrupt->mailbox.event;
}

static void copy_out(const struct rsm_mailbox_entry *message, void *data, size_t *length)
{
    size_t room = length != NULL ? *length : 0;
    size_t given = message->length < room ? message->length : room;
    if (given > 0)
        memcpy(data, message->data, given);
    if (length != NULL)
        *length = given;
}

enum rsm_status rsmcore_interrupt_wait(struct rsmcore_interrupt *interrupt, int timeout_ms,
                                       void *data, size_t *length)
{
    if (interrupt->kind == RSM_INTERRUPT_PLAIN)
        return rsmcore_event_wait(interrupt->mailbox.event, timeout_ms);
    int64_t end = rsm_deadline(timeout_ms);
    const struct rsm_mailbox_entry *message;
    enum rsm_status status;
    do {
        status = rsmcore_event_wait(interrupt->mailbox.event, rsm_deadline_left_ms(end));
        if (status != RSM_ST_OK)
            return status;
        pthread_mutex_lock(&interrupt->mailbox.lock);
        status = rsmcore_mailbox_take(&interrupt->mailbox, &message);
        if (message != NULL)
            copy_out(message, data, length);
        pthread_mutex_unlock(&interrupt->mailbox.lock);
    } while (status == RSM_ST_OK && message == NULL);
    return status;
}

/* The status that a trigger returns when the daemon cannot be reached. */
static enum rsm_status trigger_status(enum rsm_status status)
{
    return status == RSM_ST_STALE || status == RSM_ST_TIMEOUT ? RSM_ST_UNREACHABLE : status;
}

/* Find what the trigger names. */
static enum rsm_status look_up(struct rsmcore_trigger *trigger, bool with_counter)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_INTERRUPT_CONNECT);
    msg.u.interrupt_connect = (struct rsm_interrupt_connect_request){.node = trigger->node,
                                                                     .kind = trigger->kind,
                                                                     .number = trigger->number,
                                                                     .counter = with_counter};
    enum rsm_status status = rsmcore_control_call(trigger->control, &msg, &fds);
    if (status != RSM_ST_OK)
        return status;
    trigger->id = msg.u.interrupt_connect_reply.interrupt;
    if (with_counter && fds.count == 1)
        trigger->counter = rsm_event_counter_map(fds.fds[0]);
    rsm_packet_fds_close(&fds);
    return RSM_ST_OK;
}

static enum rsm_status find(struct rsmcore_controller *controller, uint32_t node,
                            enum rsm_interrupt_kind kind, uint32_t number, bool with_counter,
                            struct rsmcore_trigger **trigger)
{
    struct rsmcore_trigger *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    struct rsmcore_place place;
    enum rsm_status status = rsmcore_route(controller, node, &place);
    if (status != RSM_ST_OK) {
        free(made);
        return status;
    }
    made->control = place.control;
    made->node = node;
    made->kind = kind;
    made->number = number;
    made->process_epoch = rsmcore_process_epoch();
    status = look_up(made, with_counter);
    if (status == RSM_ST_NO_RESOURCES && with_counter) /* this process has no descriptor left */
        status = look_up(made, false);
    if (status == RSM_ST_OK)
        *trigger = made;
    else
        rsmcore_interrupt_disconnect(made);
    return trigger_status(status);
}

enum rsm_status rsmcore_interrupt_connect(struct rsmcore_controller *controller, uint32_t node,
                                          enum rsm_interrupt_kind kind, uint32_t number,
                                          struct rsmcore_trigger **trigger)
{
    return find(controller, node, kind, number, kind == RSM_INTERRUPT_PLAIN, trigger);
}

/* "No such interrupt" is an answer, too. */
enum rsm_status rsmcore_node_probe(struct rsmcore_controller *controller, uint32_t node)
{
    struct rsmcore_trigger *trigger;
    enum rsm_status status = find(controller, node, RSM_INTERRUPT_PLAIN, 0, false, &trigger);
    if (status == RSM_ST_OK)
        rsmcore_interrupt_disconnect(trigger);
    return status == RSM_ST_NOT_FOUND ? RSM_ST_OK : status;
}

void rsmcore_interrupt_disconnect(struct rsmcore_trigger *trigger)
{
    if (trigger->counter != NULL)
        rsm_event_counter_unmap(trigger->counter);
    rsmcore_control_release(trigger->control);
    free(trigger);
}

static enum rsm_status request_trigger(const struct rsmcore_trigger *trigger, const void *data,
                                       size_t length, bool posted)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_INTERRUPT_TRIGGER);
    struct rsm_interrupt_trigger_request *request = &msg.u.interrupt_trigger;
    request->node = trigger->node;
    request->kind = trigger->kind;
    request->number = trigger->number;
    request->interrupt = trigger->id;
    request->posted = posted;
    request->length = (uint32_t)length;
    if (length > 0)
        memcpy(request->data, data, length);
    return trigger_status(rsmcore_control_call(trigger->control, &msg, NULL));
}

/* Whether a post to the counter has the effect of a request. Not if the owner has a poll
 * descriptor, which only rsmd rings, nor in a forked child, whose requests are refused. */
static bool may_post(const struct rsmcore_trigger *trigger)
{
    return trigger->counter != NULL && trigger->process_epoch == rsmcore_process_epoch() &&
           rsmcore_control_daemon_lives(trigger->control,
                                        rsmcore_control_generation_table(trigger->control)) &&
           atomic_load(&trigger->counter->direct) == 1 &&
           !rsm_event_counter_is_armed(trigger->counter);
}

enum rsm_status rsmcore_interrupt_trigger(struct rsmcore_trigger *trigger, const void *data,
                                          size_t length)
{
    if (length > RSM_INTERRUPT_DATA_MAX)
        return RSM_ST_RANGE;
    if (length > 0 || !may_post(trigger))
        return request_trigger(trigger, data, length, false);
    /* The counter may have got a poll descriptor just now. The event is there in any case. */
    if (rsm_event_counter_post(trigger->counter, 1, false))
        (void)request_trigger(trigger, NULL, 0, true);
    return RSM_ST_OK;
}
