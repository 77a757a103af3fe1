/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the judge asks of a process that runs the node half, and how. */
#ifndef TESTS_CONFORMANCE_DIRECT_PACKET_H
#define TESTS_CONFORMANCE_DIRECT_PACKET_H

#include "direct.h"

enum node_request {
    NODE_OPEN,
    NODE_CLOSE,
    NODE_MAKE,
    NODE_FREE,
    NODE_OFFER,
    NODE_REVOKE,
    NODE_REVOKE_BEGIN,
    NODE_REVOKE_TWICE,
    NODE_ACCEPT,
    NODE_END_IMPORT,
    NODE_RELEASED,
    NODE_COUNT,
};

struct packet {
    enum node_request request;
    enum rsm_status status;
    unsigned id;
    unsigned node;
    uint64_t length;
    uint32_t rights;
    uint32_t count;
    struct piece pieces[PIECES_MAX];
    struct rsm_offer offer;
    struct rsm_extent extent;
    struct rsm_node_offer made;
    struct node_facts facts;
    struct node_counts counts;
};

/** Send a packet with descriptors. False: the other side has gone. */
bool packet_send(int socket, struct packet *packet, const int *fds, unsigned count);
/** The number of descriptors that came with it, at most RSM_OFFER_MAX_FDS; -1: the other side has
 *  gone. */
int packet_receive(int socket, struct packet *packet, int *fds);

/** Be the process that runs the node half, until the judge has gone. */
void node_serve(int socket) __attribute__((noreturn));

#endif
