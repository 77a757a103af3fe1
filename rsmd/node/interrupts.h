/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Named interrupts: events without a segment. A client creates one under a number of its node, and
 * processes with the right trigger it, from this host or another one. A plain interrupt is a
 * counter (counters.h); one with data also has a mailbox for its messages (mailbox.h).
 *
 * A process that triggers has no state in rsmd: each request names the interrupt, and is checked.
 * Processes of the owner's user and of root get the counter of a plain interrupt and post to it
 * without a request, as long as its word `direct` is 1.
 */
#ifndef RSMD_INTERRUPTS_H
#define RSMD_INTERRUPTS_H

#include "node/call.h"
#include "node/mailbox.h"

struct rsmd_interrupt {
    uint32_t id;
    uint32_t place; /* in interrupts_by_place */
    struct rsmd_interrupt_key {
        uint32_t kind;
        uint32_t number;
    } key;
    struct rsmd_client *client;
    pid_t creator; /* 0: not known */
    struct rsmd_access access;
    bool shared;
    bool direct;    /* other processes have its counter and may post to it */
    uint32_t group; /* id of the first of those of one number */
    struct rsmd_interrupt *next_sharer, *previous_sharer; /* in a ring; alone it is its own next */
    struct rsmd_mailbox mailbox;        /* of messages; of a plain one the counter alone */
    struct rsmd_interrupt *prev, *next; /* of the client */
    UT_hash_handle hh;                  /* by id */
    UT_hash_handle hh_key;
};

/** A request to find an interrupt, or to trigger it. */
struct rsmd_trigger {
    uint32_t node;                   /**< of the process that asks */
    const struct rsmd_identity *who; /**< that process */
    uint32_t kind;                   /**< enum rsm_interrupt_kind */
    uint32_t number;
    uint32_t interrupt; /**< its id; 0: find it, and do no more */
    bool posted;        /**< the event is in the counter; only the poll descriptor is to be rung */
    uint32_t length;    /**< bytes */
    const uint8_t *data;
};

/**
 * Carry one out.
 * @param id  receives the interrupt's id.
 * @return RSM_ST_OK; RSM_ST_NOT_FOUND: there is none, or it is another one than it was;
 *         RSM_ST_DENIED; RSM_ST_INVALID: data for a plain one; RSM_ST_NO_RESOURCES: the queue is
 *         full, or its owner may not have more; RSM_ST_NO_MEMORY.
 */
enum rsm_status rsmd_interrupt_trigger(struct rsmd_node *node, const struct rsmd_trigger *trigger,
                                       uint32_t *id);

/** An interrupt of the client that asks, by id. RSM_ST_NOT_FOUND; RSM_ST_NOT_CREATOR: the process
 *  is another one of the client's. */
enum rsm_status rsmd_interrupt_find_created(const struct rsmd_call *call, uint32_t id,
                                            struct rsmd_interrupt **found);

/** What rsmstat shows of it. */
struct rsm_interrupts_item rsmd_interrupt_seen(const struct rsmd_interrupt *interrupt);

/** Free the first of a client's interrupts. */
void rsmd_interrupt_free_first(struct rsmd_node *node, struct rsmd_client *client);

#endif
