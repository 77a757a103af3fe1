/* SPDX-License-Identifier: BSD-3-Clause */
/** @file An event counter from the inside: event.c consumes, event_post.c posts, event_listener.c
 *  brings what a connection has for it. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "core/event.h"
#include "protocol/event_counter.h"

/** The counter of another handle that posts of this handle reach. */
struct rsmcore_event_receiver {
    uint32_t name;     /**< for EVENT_DOORBELL */
    bool ring_pending; /**< it could not be rung after a post */
    struct rsm_event_counter
        *counter; /**< NULL: there is none to be had; the peer learns it from rsmd */
};

struct rsmcore_listener; /* of event_listener.c */

struct rsmcore_event {
    struct rsmcore_control *control;
    enum rsm_event_end end;
    uint32_t id;
    _Atomic(struct rsm_event_counter *) counter; /**< own counter; NULL until first used */
    atomic_bool cancelled;                       /* waits return at once */
    atomic_bool descriptor_given;
    int polled, ringing; /**< ends of the doorbell; set before descriptor_given, then constant */
    struct rsm_conn *source;           /**< may bring events, too; NULL: the counter is all */
    atomic_bool asked;                 /**< ... and was asked to, once */
    int source_fd;                     /**< of what then does */
    struct rsmcore_listener *listener; /**< takes from it; NULL: none */
    const _Atomic uint32_t *slot;
    uint32_t slot_value;

    pthread_mutex_t lock; /**< guards making the counter and the doorbell, and the peers */
    bool receivers_known;
    uint32_t receivers_epoch;
    unsigned receiver_count;
    struct rsmcore_event_receiver *receivers;
};

/** Open the counter now. A wait accepts a private counter instead; this function fails with rsmd's
 *  status, or with RSM_ST_STALE if rsmd has gone. */
enum rsm_status rsmcore_event_open(struct rsmcore_event *event);

/** Look at a counter for a moment, until it is not 0, before sleeping on it. */
void rsmcore_event_spin(const struct rsm_event_counter *counter);

/** Let all that wait, and all that will, return RSM_ST_STALE, and the descriptor be readable. Of a
 *  counter that is open. */
void rsmcore_event_cancel(struct rsmcore_event *event);

/** Make the own poll descriptor readable, which there is. */
void rsmcore_event_ring(const struct rsmcore_event *event);

/** Post to the own counter, which is open, as a peer would; its descriptor becomes readable. */
void rsmcore_event_raise(struct rsmcore_event *event, uint32_t count, bool coalesce);

/** Unmap all peers. The caller has excluded every other user of the event, or holds its lock. */
void rsmcore_event_forget_receivers(struct rsmcore_event *event);

/** Arm the source of events, before a wait or poll looks at the opened counter. Events that the
 *  source cannot bring come by the daemons. */
void rsmcore_event_listen(struct rsmcore_event *event);
/** No more, from the return on. */
void rsmcore_event_stop_listening(struct rsmcore_event *event);

/* How exports and imports set the receivers of their posts */

/** Tie the peers of an event to a slot of the generation table. Of an import: once the slot no
 *  longer holds @p value the exporter is out of reach and posts are lost. Of an export (@p value is
 *  ignored): whenever the slot moves the set of importers has changed. */
void rsmcore_event_follow(struct rsmcore_event *event, const _Atomic uint32_t *slot,
                          uint32_t value);

/** Of an import: its connection may bring events, too. As transport and connect() know it, for as
 *  long as the event is there. */
void rsmcore_event_set_source(struct rsmcore_event *event, struct rsm_conn *conn);
