/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The uses of the API that failures are injected into, and the process at their other end.
 */
#ifndef TESTS_FAULTS_PARTS_H
#define TESTS_FAULTS_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    PARTS_OWN_NODE = 1,
    PARTS_PEER_NODE = 2,
    PARTS_PAGE = 4096,
    PEER_ECHO_ID = 0x400100,  /* events posted here come back */
    PEER_TAKEN_ID = 0x400101, /* is taken back when it is asked for */
    PEER_LENGTH = 8 * PARTS_PAGE,
};

/** What the peer is asked, in shared memory. */
struct peer_orders {
    atomic_bool ready;
    atomic_bool end;
    atomic_uint take_back;  /* so many times in all */
    atomic_uint taken_back; /* so many were done */
};

struct part {
    const char *name;
    void (*run)(struct peer_orders *peer);
    bool imports; /* from the other node */
};

/** All parts; the last one has no name. */
extern const struct part parts[];

void part_controller(struct peer_orders *peer);
void part_export(struct peer_orders *peer);
void part_overlap(struct peer_orders *peer);
void part_import(struct peer_orders *peer);
void part_transfer(struct peer_orders *peer);
void part_taken(struct peer_orders *peer);
void part_events(struct peer_orders *peer);
void part_fork(struct peer_orders *peer);

/** Make and destroy a segment without any failure. What could not be taken off its extent by the
 * last destroy, because nothing could be opened for as long as that lasted, is taken off by this.
 */
void parts_take_leftovers(void);

/** Be the peer, until it is to end. @return the exit status of its process. */
int peer_run(struct peer_orders *orders);

#endif
