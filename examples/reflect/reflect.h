/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * reflect: a process on each node publishes its state a thousand times a second, and shows the
 * state of all. Each node has a copy of the same memory; a put to the group lands in all copies, so
 * that a reader never asks another node for anything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rsm/group.h>
#include <rsm/rsmapi.h>

enum { VALUES = 16, SLOTS = 64, COPY_BYTES = SLOTS * 128 };

/** The state of a node, at a place of its own in every copy. Its writer counts `begun` first and
 *  `ended` last, and orders them by barriers; a reader reads in the opposite order. What it has
 *  read is whole if the two are equal. */
struct slot {
    uint64_t begun;
    float values[VALUES];
    uint32_t node;
    uint32_t unused;
    uint64_t ended;
    uint8_t rest[128 - 2 * 8 - VALUES * 4 - 2 * 4];
};
_Static_assert(sizeof(struct slot) == 128, "a slot is two cache lines");

struct options {
    char *controller;
    rsm_memseg_id_t segment_id;
    unsigned rate;    /**< updates a second */
    unsigned seconds; /**< 0: until a signal */
    bool lines;       /**< no screen but lines, one a second for each node */
};

/* ---- publish.c: this node's copy, and what it puts into all copies */

struct publisher {
    rsmapi_controller_handle_t controller;
    rsm_memseg_export_handle_t segment;
    rsm_group_handle_t group;
    rsm_node_id_t node;
    struct slot *copy; /**< SLOTS of them */
    uint64_t count;    /**< of updates */
};

/** Open the controller, export the copy and connect to the group. False: it has said why. */
bool publisher_begin(struct publisher *publisher, const struct options *options);
void publisher_end(struct publisher *publisher);

/** Put the next state into all copies. */
bool publisher_update(struct publisher *publisher, double seconds);

/** Whether all members have what was put so far; finds new ones. @p lacking receives how many may
 *  lack some of it. */
bool publisher_settle(struct publisher *publisher, unsigned *lacking);

/** Read a slot of this node's copy. False: it is being written, or never was. */
bool slot_read(const struct slot *slot, struct slot *into);

/* ---- screen.c: what the copies have */

struct screen;

struct screen *screen_begin(bool lines);
/** Look at the copy, and show it if it is time. @p now: milliseconds. */
void screen_show(struct screen *screen, const struct publisher *publisher, int64_t now);
void screen_end(struct screen *screen);
