/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The two layouts that processes and rsmd share in memory: the generation table and the
 *  event counter. Both are part of the control protocol (proto.h) and change only with its
 *  version. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** The generation table of one rsmd: written by it alone, mapped read-only by all its clients, so
 *  that an importer sees an abort by one load. `alive` is a robust futex that rsmd's main thread
 *  holds: when rsmd dies, however it dies, the kernel itself sets RSM_GENERATION_TABLE_OWNER_DIED
 *  there. While one rsmd hands over to the next, the futex is free. It then has
 *  RSM_GENERATION_TABLE_LEFT and, in the other bits, the second of CLOCK_MONOTONIC until which
 *  clients consider the daemon alive: without a successor by then, they see its end. */
enum {
    RSM_GENERATION_TABLE_MAGIC = 0x47534d52, /* "RMSG" as bytes */
    RSM_GENERATION_TABLE_VERSION = 1,
    RSM_GENERATION_TABLE_SLOTS = 65536,
    RSM_GENERATION_TABLE_HEADER = 4096, /* bytes before the slots */
};
#define RSM_GENERATION_TABLE_OWNER_DIED 0x40000000u /* FUTEX_OWNER_DIED */
#define RSM_GENERATION_TABLE_LEFT       0x80000000u
#define RSM_GENERATION_TABLE_UNTIL      0x3fffffffu /* mask of the second */

struct rsm_generation_table {
    uint32_t magic;
    uint32_t version;
    uint32_t slots;
    _Atomic uint32_t alive;
    _Atomic uint32_t newest; /* message that its owner knows; 0: RSM_MSG_NEWEST_BEFORE */
    uint8_t reserved[RSM_GENERATION_TABLE_HEADER - 20];
    _Atomic uint32_t slot[RSM_GENERATION_TABLE_SLOTS];
};
_Static_assert(sizeof(struct rsm_generation_table) ==
                   RSM_GENERATION_TABLE_HEADER + 4 * RSM_GENERATION_TABLE_SLOTS,
               "the generation table is shared between builds");

/** Map a table that rsmd has sent. NULL: it is none, or cannot be mapped. munmap() ends it. */
const struct rsm_generation_table *rsm_generation_table_map(int fd);

/** Whether the table's owner knows a message of this type (enum rsm_msg_type). It ends a connection
 *  over which one comes that it does not know. */
bool rsm_generation_table_knows(const struct rsm_generation_table *table, uint32_t type);

/** Whether the table's owner runs, or has left for a successor that may still come. No system
 *  call. */
bool rsm_generation_table_is_owned(const struct rsm_generation_table *table);

/** An event counter: one page of a separate memfd, mapped by the owner of the handle and by the
 *  processes that may post to it. A poster adds to `pending`, wakes a sleeper if `waiters` is not 0
 *  and has rsmd make the poll descriptor readable if `armed` is set. The owner trusts only that a
 *  changed counter means a post by an entitled process. */
struct rsm_event_counter {
    _Atomic uint32_t pending; /* events posted and not yet consumed; also the futex */
    _Atomic uint32_t waiters; /* threads that sleep on the futex */
    _Atomic uint32_t armed;   /* 1: the owner has a poll descriptor */
    uint32_t relay; /* 1: the counter is rsmd's own, which passes events on to another host;
                       constant */
    _Atomic uint32_t processor; /* 1 + that on which the latest poster was; 0: none yet. A hint */
    /* of an interrupt: 1 while a post here reaches all receivers that a trigger by rsmd reaches.
     * Only rsmd sets it */
    _Atomic uint32_t direct;
    uint32_t reserved[10];
};
/** In `pending` of a relay: a coalesced event came before the others. */
#define RSM_EVENT_COALESCED_FIRST 0x80000000u
_Static_assert(sizeof(struct rsm_event_counter) == 64, "the event cell is shared between builds");
