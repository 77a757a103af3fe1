/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "base/cancel.h"
#include "base/probe.h"
#include "core/event_internal.h"

enum {
    REFRESH_TRIES = 8,     /* until a set of importers that keeps changing is taken as it is */
    RECEIVERS_MAX = 65536, /* bound on what a daemon can make us map */
};

static void release_receiver(struct rsmcore_event_receiver *receiver)
{
    if (receiver->counter != NULL)
        rsm_event_counter_unmap(receiver->counter);
}

void rsmcore_event_forget_receivers(struct rsmcore_event *event)
{
    for (unsigned i = 0; i < event->receiver_count; i++)
        release_receiver(&event->receivers[i]);
    free(event->receivers);
    event->receivers = NULL;
    event->receiver_count = 0;
    event->receivers_known = false;
}

void rsmcore_event_follow(struct rsmcore_event *event, const _Atomic uint32_t *slot, uint32_t value)
{
    event->slot = slot;
    event->slot_value = value;
}

/* Add the cells of one page of the answer. */
static enum rsm_status take_counters(struct rsmcore_event *event,
                                     const struct rsm_event_receivers_reply *page,
                                     const struct rsm_packet_fds *fds)
{
    unsigned taken = 0;
    if (event->receiver_count + page->count > RECEIVERS_MAX)
        return RSM_ST_PROTOCOL;
    struct rsmcore_event_receiver *grown =
        realloc(event->receivers, (event->receiver_count + page->count) * sizeof *grown);
    if (grown == NULL)
        return RSM_ST_NO_MEMORY;
    event->receivers = grown;
    for (unsigned i = 0; i < page->count; i++) {
        struct rsm_event_counter *counter = NULL;
        bool is_there = event->end == RSM_EVENT_IMPORT || page->receivers[i] != 0;
        if (is_there && taken == fds->count)
            return RSM_ST_PROTOCOL;
        if (is_there)
            counter = rsm_event_counter_map(fds->fds[taken++]);
        if (is_there && counter == NULL)
            return RSM_ST_NO_MEMORY;
        event->receivers[event->receiver_count++] =
            (struct rsmcore_event_receiver){.name = page->receivers[i], .counter = counter};
    }
    return taken == fds->count ? RSM_ST_OK : RSM_ST_PROTOCOL;
}

/* Ask for all peers once. RSM_ST_BUSY: they changed between two pages of the answer. */
static enum rsm_status fetch_receivers(struct rsmcore_event *event)
{
    RSM_UNCANCELLABLE;
    uint32_t total;
    rsmcore_event_forget_receivers(event);
    do {
        struct rsm_packet_fds fds;
        struct rsm_msg msg;
        rsm_msg_begin(&msg, RSM_MSG_EVENT_RECEIVERS);
        msg.u.event_receivers = (struct rsm_event_receivers_request){
            .end = event->end, .id = event->id, .first = event->receiver_count};
        enum rsm_status status = rsmcore_control_call(event->control, &msg, &fds);
        if (status != RSM_ST_OK)
            return status;
        const struct rsm_event_receivers_reply *page = &msg.u.event_receivers_reply;
        bool same = event->receiver_count == 0 || page->epoch == event->receivers_epoch;
        event->receivers_epoch = page->epoch;
        total = page->total;
        if (page->count > 0)
            status = take_counters(event, page, &fds);
        rsm_packet_fds_close(&fds);
        if (status != RSM_ST_OK || !same)
            return status != RSM_ST_OK ? status : RSM_ST_BUSY;
        if (page->count == 0)
            break;
    } while (event->receiver_count < total);
    event->receivers_known = true;
    return RSM_ST_OK;
}

static bool receivers_current(const struct rsmcore_event *event)
{
    if (!event->receivers_known)
        return false;
    return event->end == RSM_EVENT_IMPORT ||
           (event->slot != NULL && atomic_load(event->slot) == event->receivers_epoch);
}

static enum rsm_status know_receivers(struct rsmcore_event *event)
{
    if (receivers_current(event))
        return RSM_ST_OK;
    enum rsm_status status = RSM_ST_BUSY;
    for (int tries = REFRESH_TRIES; status == RSM_ST_BUSY && tries > 0; tries--)
        status = fetch_receivers(event);
    if (status != RSM_ST_OK && status != RSM_ST_BUSY)
        rsmcore_event_forget_receivers(event);
    return status == RSM_ST_BUSY ? RSM_ST_OK : status;
}

/* Let rsmd make the receiver's poll descriptor readable. Only rsmd writes to it: a holder of the
 * writing end could silence it, or leave descriptors in it that the receiver would close. */
static enum rsm_status ring(struct rsmcore_event *event, struct rsmcore_event_receiver *receiver)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_EVENT_DOORBELL);
    msg.u.event_doorbell = (struct rsm_event_doorbell_request){
        .end = event->end, .id = event->id, .receiver = receiver->name};
    enum rsm_status status = rsmcore_control_call(event->control, &msg, NULL);
    receiver->ring_pending = status == RSM_ST_TIMEOUT || status == RSM_ST_STALE ||
                             status == RSM_ST_NO_RESOURCES || status == RSM_ST_NO_MEMORY;
    return receiver->ring_pending ? status : RSM_ST_OK;
}

/* Post to one receiver. If its doorbell cannot be rung, the event is taken back, unless the
 * receiver has found it: the poster gets the error and may post again. */
static enum rsm_status post_to(struct rsmcore_event *event, struct rsmcore_event_receiver *receiver,
                               bool coalesce)
{
    if (receiver->counter ==
        NULL) /* rsmd has no room for its counter, and reports that to its waits */
        return RSM_ST_OK;
    bool has_to_ring = rsm_event_counter_post(receiver->counter, 1, coalesce);
    if (!has_to_ring && !receiver->ring_pending)
        return RSM_ST_OK;
    enum rsm_status status = ring(event, receiver);
    bool added = has_to_ring || !coalesce;
    bool found =
        added && status != RSM_ST_OK && !rsm_event_counter_retract(receiver->counter, coalesce);
    return found ? RSM_ST_OK : status;
}

/* Post to all known receivers. A failure of one does not keep the others from theirs. */
static enum rsm_status post_to_receivers(struct rsmcore_event *event, bool coalesce)
{
    enum rsm_status status = RSM_ST_OK;
    for (unsigned i = 0; i < event->receiver_count; i++) {
        enum rsm_status posted = post_to(event, &event->receivers[i], coalesce);
        if (status == RSM_ST_OK)
            status = posted;
    }
    return status;
}

/* The status that the poster gets for a failure. */
static enum rsm_status post_status(enum rsm_status status)
{
    switch (status) {
    case RSM_ST_NOT_FOUND:
    case RSM_ST_ABORTED:
        return RSM_ST_OK; /* no receiver is left */
    case RSM_ST_STALE:
    case RSM_ST_TIMEOUT:
    case RSM_ST_PROTOCOL:
        return RSM_ST_UNREACHABLE;
    default:
        return status;
    }
}

enum rsm_status rsmcore_event_post(struct rsmcore_event *event, bool coalesce)
{
    if (event->end != RSM_EVENT_IMPORT) /* whose probe is in rsmcore_import_post() */
        RSM_PROBE3(event_post, (uint32_t)event->end, event->id, (uint32_t)coalesce);
    if (!rsmcore_control_daemon_lives(event->control,
                                      rsmcore_control_generation_table(event->control)))
        return RSM_ST_UNREACHABLE;
    if (event->end == RSM_EVENT_IMPORT && event->slot != NULL &&
        atomic_load(event->slot) != event->slot_value)
        return RSM_ST_OK;
    pthread_mutex_lock(&event->lock);
    enum rsm_status status = know_receivers(event);
    enum rsm_status posted = post_to_receivers(event, coalesce);
    pthread_mutex_unlock(&event->lock);
    return post_status(status != RSM_ST_OK ? status : posted);
}
