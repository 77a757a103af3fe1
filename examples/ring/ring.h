/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Two rings of messages in memory that two processes share, one for each direction. This
 *  part was written for processes of one host and does not know librsm. Here it also runs between
 *  two hosts, as it is: the client has the memory mapped. */
#pragma once

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { RING_SLOTS = 64, RING_MESSAGE_BYTES = 64 };

/** One process sends and one receives. Both counts only grow. */
struct ring {
    alignas(64) _Atomic uint64_t sent;     /**< messages, by the sender */
    alignas(64) _Atomic uint64_t received; /**< messages, by the receiver */
    alignas(64) char slots[RING_SLOTS][RING_MESSAGE_BYTES];
};

/** What the two share. */
struct channel {
    struct ring request; /**< from the client to the server */
    struct ring reply;
};

/** @return false: the ring is full. */
bool ring_send(struct ring *ring, const void *message);
/** @return false: there is no message. */
bool ring_receive(struct ring *ring, void *message);
