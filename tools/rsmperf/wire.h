/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What rsmperf's two sides put into each other's memory.
 *
 * A server publishes one page of slots under a known id. An importer publishes a page of its own,
 * the answer page, writes its request into a free slot and posts. The server then makes a *lane*
 * for it: a thread, a page for commands and a segment for data, whose ids it puts into the answer
 * page. The lane answers each event by a store into that page. It ends with its importer, which it
 * notices by the connection to the answer page.
 *
 * Any process with access may overwrite either page: both sides check what they read.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum {
    WIRE_VERSION = 4,
    WIRE_SLOTS = 63,
    WIRE_PAGE = 4096, /* what is used of the first page */
};

/** A request. `ready` is written last. */
struct wire_slot {
    _Atomic uint64_t ready; /**< the importer's token, which is not 0; 0: the slot is free */
    uint64_t token;         /**< again: the rest belongs to it */
    uint64_t version;
    uint64_t node;          /**< the importer's */
    uint64_t id;            /**< of its answer page */
    uint64_t bytes;         /**< of the data segment wanted */
    uint64_t sisci_adapter; /**< 0: no SISCI is wanted; else 1 + its number of the adapter */
    uint64_t unused;
};

struct wire_slots {
    struct wire_slot slot[WIRE_SLOTS];
};

enum wire_mode {
    WIRE_SLEEP,     /**< wait for events asleep */
    WIRE_SPIN,      /**< wait for events spinning */
    WIRE_MIRROR,    /**< copy `ping` into the answer page's `pong`, spinning */
    WIRE_NOTIFY,    /**< wait asleep for events of the answer page's segment, the other direction */
    WIRE_INTERRUPT, /**< wait asleep for triggers of the SISCI interrupt without a callback */
    WIRE_QUIT,
};

/** The command page, in the exporter's memory. After a change of mode an event is due. */
struct wire_command {
    _Atomic uint64_t mode;
    uint64_t unused[7]; /* a cache line each */
    _Atomic uint64_t ping;
};

enum wire_state {
    WIRE_NOT_YET,
    WIRE_HERE,    /**< both ids can be connected to */
    WIRE_REFUSED, /**< see `error` */
};

/** The answer page, in the importer's memory. */
struct wire_answer {
    uint64_t command_id, data_id;
    uint64_t error;         /**< of RSMAPI or SISCI, or 0: too many importers */
    _Atomic uint64_t state; /**< enum wire_state, written last */
    uint64_t sisci_segment, sisci_awaited, sisci_called; /**< ids and numbers, if wanted */
    uint64_t plain_port;       /**< of a TCP server beside which to compare, 0: there is none */
    uint64_t plain_address[2]; /**< of IPv6, or an IPv4 one that is mapped */
    uint64_t unused[6];
    _Atomic uint64_t answers; /**< events and triggers that were answered */
    uint64_t unused_too[7];
    _Atomic uint64_t pong;
};

_Static_assert(sizeof(struct wire_slots) <= WIRE_PAGE, "slots fill one page");
