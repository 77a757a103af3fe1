/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The control protocol (protocol/proto.h): named interrupts. */
#ifndef RSMCORE_PROTO_INTERRUPT_H
#define RSMCORE_PROTO_INTERRUPT_H

#include <stdint.h>

#include "protocol/proto_limits.h"

/** Named interrupts: events without a segment, under a number of the node. Each kind has all
 * numbers of 32 bits to itself. */
enum rsm_interrupt_kind {
    RSM_INTERRUPT_PLAIN = 1, /* counts */
    RSM_INTERRUPT_DATA = 2,  /* has a queue of messages */
};
/** Make one. RSM_ST_ID_IN_USE. Its counter: EVENT_OPEN, EVENT_ARM with RSM_EVENT_INTERRUPT. Of
 *  those with SHARED one user may have any number under one number of the node: a trigger reaches
 *  all of them, or, if a queue is full, none. */
#define RSM_INTERRUPT_ASSIGN_NUMBER 1u /* rsmd chooses it, and the one below does not count */
#define RSM_INTERRUPT_SHARED        2u
struct rsm_interrupt_create_request {
    uint32_t kind; /* enum rsm_interrupt_kind */
    uint32_t number;
    uint32_t flags; /* RSM_INTERRUPT_* */
    uint32_t mode;  /* owner, group, other digits: who may trigger it has the right to write */
};
struct rsm_interrupt_create_reply {
    uint32_t interrupt; /* id, never 0, unique within the node */
    uint32_t number;
};
/** With all messages that wait. */
struct rsm_interrupt_remove_request {
    uint32_t interrupt;
};
/** Look one up. There is no connection that would have to end. RSM_ST_NOT_FOUND, RSM_ST_DENIED.
 *  With the reply the counter of a plain one may come, to be posted to without rsmd (sharedmem.h): a
 *  user gets those of his own interrupts, and root gets all. */
struct rsm_interrupt_connect_request {
    uint32_t node; /* whose interrupt it is */
    uint32_t kind;
    uint32_t number;
    uint32_t counter; /* 1: it is wanted */
};
struct rsm_interrupt_connect_reply {
    uint32_t interrupt;
};
/** Trigger one. RSM_ST_NOT_FOUND: it has gone, even if its number is in use again;
 *  RSM_ST_NO_RESOURCES: RSM_INTERRUPT_QUEUE_MAX messages wait, or as many as its owner may have. */
struct rsm_interrupt_trigger_request {
    uint32_t node;
    uint32_t kind;
    uint32_t number;
    uint32_t interrupt;
    uint32_t length; /* bytes; 0 for a plain one */
    uint8_t data[RSM_INTERRUPT_DATA_MAX];
    uint32_t posted; /* 1: the sender has posted to the counter. Only the poll descriptor is to be
                        made readable */
};
/** Fetch messages of an own interrupt, oldest first, and discard those that were fetched before. */
struct rsm_interrupt_take_request {
    uint32_t interrupt;
    uint32_t most;  /* of them; 0: discard only */
    uint64_t after; /* `order` of the last one that has arrived here; 0: none has */
};
struct rsm_interrupt_message {
    uint64_t order; /* ascending, never 0 */
    uint32_t node;  /* of the sender */
    uint32_t length;
    uint8_t data[RSM_INTERRUPT_DATA_MAX];
};
struct rsm_interrupt_take_reply {
    uint32_t count; /* in this reply; 0: there are no more */
    struct rsm_interrupt_message messages[RSM_PROTO_MESSAGES_MAX];
};

#endif
