/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The parts of the example. */
#pragma once

#include <signal.h>
#include <stddef.h>

#include <rsmapi.h>

#include "ring.h"

/** How the client reaches the rings: by stores and loads, or by put and get. */
struct access {
    /** @return 1: done; 0: full, or no message; -1: failed, which has been reported. */
    int (*send)(void *rings, const void *message);
    int (*receive)(void *rings, void *message);
};

/** ring.h as it is, on memory of this host or on a mapping. */
extern const struct access access_memory;
/** The same rings by put and get. */
extern const struct access access_transfers;

/** Send and receive: round trips one by one, then as many as the ring has room for. Prints the
 *  figures behind @p name. @return false: it failed, which has been reported. */
bool client_run(const char *name, const struct access *access, void *rings, unsigned count);
/** Answer each request until *stopped is not 0. */
void server_run(struct channel *channel, const volatile sig_atomic_t *stopped);

/** The rings as an exported segment. */
struct exported {
    rsmapi_controller_handle_t controller;
    rsm_memseg_export_handle_t segment;
    struct channel *channel;
};

/** @return false: it failed, which has been reported. */
bool segment_export(struct exported *exported, char *controller, rsm_memseg_id_t id);
void segment_unexport(struct exported *exported);

/** The rings of another node. */
struct imported {
    rsmapi_controller_handle_t controller;
    rsm_memseg_import_handle_t segment;
    struct channel *mapped; /**< NULL: not mapped */
    rsmapi_barrier_t barrier;
    uint64_t sent, received;           /**< this side's counts, by transfers */
    uint64_t seen_received, seen_sent; /**< the other side's, as last read */
};

bool segment_import(struct imported *imported, char *controller, rsm_node_id_t node,
                    rsm_memseg_id_t id);
bool segment_map(struct imported *imported);
void segment_unimport(struct imported *imported);
/** Learn how far the rings are, before access_transfers. */
bool transfers_begin(struct imported *imported);
/** Report an error of a call of librsm. @return whether there was none. */
bool segment_succeeded(const char *call, int error);
