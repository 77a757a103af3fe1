/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The reader's half of a mailbox: records of connections (records.c) or messages of an
 *  interrupt (interrupt.c), which rsmd keeps in order until the reader acknowledges them. The event
 *  counter has one event for each entry that can be taken. An entry is either here, fetched ahead,
 *  or in rsmd. */
#pragma once

#include <pthread.h>

#include "core/event_internal.h"

struct rsmcore_mailbox {
    struct rsmcore_event *event;
    struct rsmcore_control *control; /* held by the event */
    enum rsm_event_end end;
    uint32_t id;
    pthread_mutex_t lock;                /* guards what follows */
    struct rsm_mailbox_take_reply ahead; /* fetched, oldest first */
    uint32_t first;                      /* of them that has not been taken */
    uint64_t after;                      /* order of the last one fetched */
};

/** The mailbox of handle @p id at @p end. Its counter is opened at once: see
 *  rsmcore_event_open(). If this fails there is nothing to close. */
enum rsm_status rsmcore_mailbox_open(struct rsmcore_mailbox *mailbox,
                                     struct rsmcore_control *control, enum rsm_event_end end,
                                     uint32_t id);
void rsmcore_mailbox_close(struct rsmcore_mailbox *mailbox);

/** Whether nothing is here that was fetched ahead. The caller holds the lock. */
static inline bool rsmcore_mailbox_is_empty(const struct rsmcore_mailbox *mailbox)
{
    return mailbox->first == mailbox->ahead.count;
}

/**
 * Take the oldest entry, for an event that the caller has consumed. The caller holds the lock, and
 * *entry is valid until it releases the lock. NULL: there is none.
 * @return RSM_ST_OK; else what rsmcore_control_call() says, or RSM_ST_PROTOCOL. Then the event has
 *         been posted again, for the next caller.
 */
enum rsm_status rsmcore_mailbox_take(struct rsmcore_mailbox *mailbox,
                                     const struct rsm_mailbox_entry **entry);
