/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What interrupts.c keeps, for interrupts_saved.c. */
#ifndef RSMD_INTERRUPT_STATE_H
#define RSMD_INTERRUPT_STATE_H

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
    struct rsmd_mailbox mailbox;
    struct rsmd_interrupt *prev, *next; /* of the client */
    UT_hash_handle hh;                  /* by id */
    UT_hash_handle hh_key;
};

/** Enter it into all tables. False: no memory, and it is in none. */
bool rsmd_interrupt_enter(struct rsmd_node *node, struct rsmd_interrupt *interrupt);
/** Put it into the ring of those that share a number, as the last. */
void rsmd_interrupt_share(struct rsmd_interrupt *interrupt, struct rsmd_interrupt *holder);

#endif
