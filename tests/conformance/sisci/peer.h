/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What B can be told to do with interrupts. Both kinds have slots of their own, for both ends.
 *
 *     B_OK(b, connect, .node = node_a(), .number = 7);
 */
#ifndef TESTS_CONFORMANCE_SISCI_PEER_H
#define TESTS_CONFORMANCE_SISCI_PEER_H

#include "sisci.h"

enum { B_SLOTS = 8, B_DATA = 1024 };

/** What a verb is told, and what it answers. Unused members are 0. */
struct b_order {
    bool data; /* a data interrupt */
    unsigned slot;
    unsigned node;
    unsigned number;
    unsigned flags;
    unsigned timeout; /* ms */
    unsigned count;   /* of triggers; answers how many were sent */
    unsigned length;  /* of the message */
    unsigned char bytes[B_DATA];
};

/** Let B carry a verb out; the error that it got, or -1 where it could not be carried out. */
int b_tell(struct actor *b, actor_function verb, struct b_order *order);

#define B_TELL(b, verb, ...)          b_tell((b), b_##verb, &(struct b_order){__VA_ARGS__})
#define B_GIVES(wanted, b, verb, ...) EXPECT((int)(wanted), B_TELL(b, verb, __VA_ARGS__))
#define B_OK(b, verb, ...)            B_GIVES(SCI_ERR_OK, b, verb, __VA_ARGS__)

int b_create(void *order); /* .number with FIXED_INTNO, .flags */
int b_remove(void *order);
int b_wait(void *order);    /* .timeout; .length; answers .length, .bytes */
int b_connect(void *order); /* .node, .number */
int b_disconnect(void *order);
int b_trigger(void *order); /* .count times, or once; .length of .bytes. Until one fails */
/** .count messages, or a fifth of that and as many as are sent in .timeout; numbered in their first four
 *  bytes, each as often as the receiver is full. Any other error ends it. Answers in .count how many
 *  were accepted, and in .length how often he was full. */
int b_stream(void *order);
int b_terminate(void *order);

#endif
