/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A snapshot of a node, from its daemon and those of other nodes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/proto.h"

enum { NOTES_MAX = 64, NOTE_BYTES = 256 };

struct controller {
    struct rsm_controller_reply about;
    uint32_t remote_count;
    struct rsm_topology_remote *remotes;
};

/** An export, or a connection to one. */
struct segment {
    uint32_t exporter; /**< node */
    struct rsm_inspect_item item;
    struct mapping_counts counts; /**< of an import */
    struct rsm_group_stats group; /**< of an import; `group` is 0 where it is of none */
};

struct segments {
    struct segment *list;
    size_t count;
};

/** By the second, since an earlier snapshot. */
struct rates {
    bool known;
    double connects, events;
    double sent, received; /**< bytes, by all links together */
};

struct snapshot {
    uint32_t node;
    int64_t taken_ns; /**< rsm_clock_ns() when the totals were learned */
    struct rates rates;
    char socket[RSM_PROTO_PATH_MAX];
    char failure[NOTE_BYTES]; /**< not "": why there is nothing else in here */
    pid_t pid;                /**< of its daemon; 0: not known */
    uid_t uid;
    struct rsm_hello_reply hello;
    struct rsm_inspect_reply totals; /**< without items */
    struct controller *controllers;
    size_t controller_count;
    struct rsm_failed_item *failed; /**< controllers that could not be opened */
    uint32_t failed_count;
    uint32_t link_auth; /**< enum rsm_link_auth */
    uint32_t link_count;
    struct rsm_links_item *links;
    struct rsm_shares_limit limits[RSM_SHARES_COUNT];
    struct rsm_shares_user *users; /**< that the asker may see */
    size_t user_count;
    struct segments exports;
    struct segments imports; /**< from this node's processes, and to this node's segments */
    struct rsm_interrupts_item *interrupts;
    size_t interrupt_count;
    char notes[NOTES_MAX][NOTE_BYTES]; /**< what could not be learned */
    size_t note_count;
};

/**
 * Ask the daemon at @p socket, that of @p node.
 * @param sections   enum section: what is wanted.
 * @param interrupt  as in struct daemon.
 * @return NULL: out of memory. To be freed by snapshot_free(), even where `failure` is set.
 */
struct snapshot *snapshot_take(uint32_t node, const char *socket, unsigned sections, int interrupt);

/** Fill in the rates from an earlier snapshot of the same node. They stay unknown if another daemon
 *  has answered since. */
void snapshot_compare(struct snapshot *snapshot, const struct snapshot *before);

void snapshot_free(struct snapshot *snapshot);
