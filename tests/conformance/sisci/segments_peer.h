/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What B can be told to do with segments. Local segments, remote ones and maps have slots of their
 * own. Another process of A's node can be told the same.
 *
 *     S_OK(b, offer, .id = 7, .size = 4096);
 */
#ifndef TESTS_CONFORMANCE_SISCI_SEGMENTS_PEER_H
#define TESTS_CONFORMANCE_SISCI_SEGMENTS_PEER_H

#include "sisci.h"

enum { S_SLOTS = 16, SEGMENT = 0x5e9, SIZE = 8192 };

/** What a verb is told, and what it answers. Unused members are 0. */
struct s_order {
    unsigned slot;
    unsigned map; /* slot of a map */
    unsigned node;
    unsigned id;
    unsigned flags;
    unsigned timeout; /* ms */
    unsigned reason;  /* of an event */
    size_t size;
    size_t offset;
    uint64_t value;
};

/** Let a peer carry a verb out; the error that it got, or -1 where it could not be carried out. */
int s_tell(struct actor *peer, actor_function verb, struct s_order *order);

#define S_TELL(peer, verb, ...)          s_tell((peer), s_##verb, &(struct s_order){__VA_ARGS__})
#define S_GIVES(wanted, peer, verb, ...) EXPECT((int)(wanted), S_TELL(peer, verb, __VA_ARGS__))
#define S_OK(peer, verb, ...)            S_GIVES(SCI_ERR_OK, peer, verb, __VA_ARGS__)

/** The order after a verb that must succeed. */
struct s_order s_ask(struct actor *peer, actor_function verb, struct s_order order);
#define S_ASK(peer, verb, ...) s_ask((peer), s_##verb, (struct s_order){__VA_ARGS__})

int s_create(void *order); /* .id, .size, .flags */
int s_offer(void *order);  /* the same, prepare and make available */
int s_prepare(void *order);
int s_available(void *order);
int s_unavailable(void *order); /* .flags */
int s_remove(void *order);      /* .flags */
int s_attach(void *order);      /* to .id; answers .size */
int s_load(void *order);        /* .value: 8 bytes of the local segment at .offset */
int s_store(void *order);
int s_flag(void *order);       /* an interrupt of .offset; .flags */
int s_wait_flag(void *order);  /* .timeout */
int s_wait_local(void *order); /* .timeout; answers .reason, .node */

int s_connect(void *order); /* .node, .id */
int s_disconnect(void *order);
int s_map(void *order); /* .size bytes at .offset, in slot .map; .flags */
int s_unmap(void *order);
int s_peek(void *order);        /* .value: 8 bytes at .offset of the map */
int s_poke(void *order);        /* .flags other than 0: no barrier follows */
int s_wait_remote(void *order); /* .timeout; answers .reason */
int s_rounds(
    void *order); /* connect, map, unmap, disconnect .value times, or a fifth of that and as
                              often as is done in .timeout; answers growth in .size: descriptors and
                              mappings more than after the first tenth */
int s_reads_order(void *order); /* poll the local segment: at 0 a flag, behind it data, until it is
                                   .value, or .timeout is over; answers in .size how often the
                                   data was older */
int s_exit(void *order);        /* at once */

/** The test maps remote segments. */
#define NEEDS_MAP() APPLIES_IF(!options.no_map, "the controller cannot map")

/** Wait, at most LONG_MS, until connecting to a segment gives what is wanted. */
void await_connect(unsigned node, unsigned id, sci_error_t wanted);

/** A segment of this process that is available, and where it is. */
struct offered {
    sci_local_segment_t segment;
    sci_map_t map;
    volatile uint8_t *bytes;
};
struct offered offer(unsigned id, size_t size);

/** Connected from this process, to a segment of a node. */
sci_remote_segment_t connected(unsigned node, unsigned id);

/** How many descriptors and mappings this process has. */
size_t resources_now(void);

#endif
