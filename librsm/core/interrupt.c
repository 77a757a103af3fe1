/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/interrupt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/event_internal.h"
#include "core/route.h"

/* The counter has one event for each trigger. A wait that consumes one of an interrupt with data
 * takes a message, which is here or in rsmd. */
struct rsmcore_interrupt {
    struct rsmcore_event *event;
    struct rsmcore_control *control;
    enum rsm_interrupt_kind kind;
    uint32_t id;
    unsigned process_epoch;
    atomic_bool withdrawn;                 /* rsmd has forgotten it */
    pthread_mutex_t lock;                  /* guards what follows */
    struct rsm_interrupt_take_reply ahead; /* fetched, oldest first */
    uint32_t first;                        /* of them that has not been taken */
    uint64_t after;                        /* order of the last one fetched */
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

/* ---------------------------------------------------------------- beginning and end */

static void unregister(struct rsmcore_control *control, uint32_t id)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_INTERRUPT_REMOVE);
    msg.u.interrupt_remove.interrupt = id;
    /* A failure means that rsmd has gone, and the interrupt with it. */
    (void)rsmcore_control_call(control, &msg, NULL);
}

static enum rsm_status begin(struct rsmcore_interrupt *interrupt, uint32_t *number, uint32_t flags,
                             unsigned mode)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_INTERRUPT_CREATE);
    msg.u.interrupt_create = (struct rsm_interrupt_create_request){
        .kind = interrupt->kind, .number = *number, .flags = flags, .mode = mode};
    enum rsm_status status = rsmcore_control_call(interrupt->control, &msg, NULL);
    if (status != RSM_ST_OK)
        return status;
    const struct rsm_interrupt_create_reply reply = msg.u.interrupt_create_reply;
    interrupt->id = reply.interrupt;
    status = rsmcore_event_create(interrupt->control, RSM_EVENT_INTERRUPT, interrupt->id,
                                  &interrupt->event);
    if (status == RSM_ST_OK) {
        status = rsmcore_event_open(interrupt->event);
        if (status != RSM_ST_OK)
            rsmcore_event_destroy(interrupt->event);
    }
    if (status != RSM_ST_OK)
        unregister(interrupt->control, interrupt->id);
    else
        *number = reply.number;
    return status;
}

enum rsm_status rsmcore_interrupt_create(enum rsm_interrupt_kind kind, uint32_t *number,
                                         uint32_t flags, unsigned mode,
                                         struct rsmcore_interrupt **interrupt)
{
    struct rsmcore_interrupt *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = rsmcore_control_local(&made->control);
    if (status == RSM_ST_OK) {
        made->kind = kind;
        made->process_epoch = rsmcore_process_epoch();
        status = begin(made, number, flags, mode);
        if (status != RSM_ST_OK)
            rsmcore_control_release(made->control);
    }
    if (status != RSM_ST_OK) {
        free(made);
        return status;
    }
    pthread_mutex_init(&made->lock, NULL);
    *interrupt = made;
    return RSM_ST_OK;
}

void rsmcore_interrupt_withdraw(struct rsmcore_interrupt *interrupt)
{
    if (interrupt->process_epoch == rsmcore_process_epoch() &&
        !atomic_exchange(&interrupt->withdrawn, true))
        unregister(interrupt->control, interrupt->id);
}

void rsmcore_interrupt_remove(struct rsmcore_interrupt *interrupt)
{
    rsmcore_interrupt_withdraw(interrupt);
    rsmcore_event_destroy(interrupt->event);
    rsmcore_control_release(interrupt->control);
    pthread_mutex_destroy(&interrupt->lock);
    free(interrupt);
}

void rsmcore_interrupt_cancel(struct rsmcore_interrupt *interrupt)
{
    rsmcore_event_cancel(interrupt->event);
}

enum rsm_status rsmcore_interrupt_descriptor(struct rsmcore_interrupt *interrupt, int *fd)
{
    return rsmcore_event_descriptor(interrupt->event, fd);
}

/* ---------------------------------------------------------------- taking */

static void request_messages(const struct rsmcore_interrupt *interrupt, uint32_t max,
                             struct rsm_msg *msg)
{
    rsm_msg_begin(msg, RSM_MSG_INTERRUPT_TAKE);
    msg->u.interrupt_take = (struct rsm_interrupt_take_request){
        .interrupt = interrupt->id, .max = max, .after = interrupt->after};
}

/* Called with the lock held. */
static enum rsm_status fetch(struct rsmcore_interrupt *interrupt)
{
    struct rsm_msg msg;
    request_messages(interrupt, RSM_PROTO_MESSAGES_MAX, &msg);
    enum rsm_status status = rsmcore_control_call(interrupt->control, &msg, NULL);
    if (status != RSM_ST_OK)
        return status;
    const struct rsm_interrupt_take_reply *page = &msg.u.interrupt_take_reply;
    for (uint32_t i = 0; i < page->count; i++) {
        if (page->messages[i].order <= interrupt->after)
            return RSM_ST_PROTOCOL;
        interrupt->after = page->messages[i].order;
    }
    interrupt->ahead = *page;
    interrupt->first = 0;
    /* They need not be kept there for us any more, and make room for others. */
    request_messages(interrupt, 0, &msg);
    rsmcore_control_post(interrupt->control, &msg);
    return RSM_ST_OK;
}

/* RSM_ST_TIMEOUT: there is none. */
static enum rsm_status take(struct rsmcore_interrupt *interrupt, void *data, size_t *length)
{
    enum rsm_status status = RSM_ST_OK;
    pthread_mutex_lock(&interrupt->lock);
    if (interrupt->first == interrupt->ahead.count)
        status = fetch(interrupt);
    if (status != RSM_ST_OK) {
        rsmcore_event_raise(interrupt->event, 1, false); /* for the next who tries */
    } else if (interrupt->first == interrupt->ahead.count) {
        status = RSM_ST_TIMEOUT;
    } else {
        const struct rsm_interrupt_message *message =
            &interrupt->ahead.messages[interrupt->first++];
        size_t room = length != NULL ? *length : 0;
        size_t given = message->length < room ? message->length : room;
        if (given > 0)
            memcpy(data, message->data, given);
        if (length != NULL)
            *length = given;
    }
    pthread_mutex_unlock(&interrupt->lock);
    return status;
}

enum rsm_status rsmcore_interrupt_wait(struct rsmcore_interrupt *interrupt, int timeout_ms,
                                       void *data, size_t *length)
{
    int64_t end = rsm_deadline(timeout_ms);
    for (;;) {
        enum rsm_status status = rsmcore_event_wait(interrupt->event, rsm_deadline_left_ms(end));
        if (status != RSM_ST_OK || interrupt->kind == RSM_INTERRUPT_PLAIN)
            return status;
        status = take(interrupt, data, length);
        if (status != RSM_ST_TIMEOUT)
            return status;
    }
}

/* ---------------------------------------------------------------- triggering */

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
    enum rsm_status status = rsmcore_route(controller, node, &made->control);
    if (status != RSM_ST_OK) {
        free(made);
        return status;
    }
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
