/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Imported segments: connections to memory of other processes and nodes.
 *
 *  Transfers, order, complete and the abort test take no lock and, on a transport with direct
 *  access, make no system call. A handle must not be used after rsmcore_import_disconnect(). */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/exports.h"
#include "base/probe.h"
#include "core/controller.h"
#include "core/event.h"
#include "core/mapping.h"

RSMCORE_EXPORTS_BEGIN

struct rsmcore_move; /* core/export.h */
struct rsmcore_group_conn;

/** What the works of an import share (work.h). */
struct rsmcore_works {
    pthread_mutex_t lock;
    pthread_cond_t taken;
    bool taking; /* a thread takes completions */
};

/** A connection. The members are private to the inline functions below. */
struct rsmcore_import {
    struct rsm_conn *_Atomic conn;              /* replaced once, by what makes it mappable */
    const struct rsm_mapping_ops *_Atomic soft; /* of conn, if it has been replaced */
    const _Atomic uint32_t *slot;               /* of the exporter's node; moves when aborted */
    const struct rsm_generation_table *table;   /* its generation table, for the liveness word */
    uint32_t generation;                        /* value of the slot at connect */
    uint32_t rights;                            /* RSM_RIGHT_* granted */
    struct rsm_conn *inner;                     /* the transport's, which counts its failures */
    bool reports_health;                        /* whether conn's health() can fail */
    bool acquires;                              /* inner has acquire() */
    bool is_inheritable;                        /* inner has RSM_CAP_FORK */
    bool is_view;                               /* of another import (import_view.h) */
    uint64_t length;                            /* bytes of the segment, whole pages */
    uint64_t size;                              /* as the exporter asked for */
    _Atomic uint32_t failures;                  /* that calls have returned (barrier.h) */
    _Atomic uint32_t failures_reported;         /* how many of inner's failures callers have got */
    struct rsmcore_control *control;
    struct rsmcore_controller *controller;
    struct rsmcore_event *event;
    uint32_t id;
    unsigned process_epoch;
    atomic_bool trap_known;        /* to rsmd, of mappings by the engine */
    _Atomic uint64_t counts_known; /* to rsmd: the sum of what the engine counts */
    _Atomic int64_t counts_at;     /* when that was reported, of rsm_clock_ns(); 0: never */
    struct rsmcore_works works;
    struct rsmcore_group_conn *group; /* NULL: to one segment (group_import.h) */
};

/**
 * Connect to segment @p segment_id of a name space of @p node with @p rights (RSM_RIGHT_*, may be
 * 0).
 * @return RSM_ST_OK, RSM_ST_NO_CONTROLLER (loopback to another node), RSM_ST_NO_ROUTE,
 *         RSM_ST_UNREACHABLE, RSM_ST_ABORTED, RSM_ST_VERSION, RSM_ST_NOT_FOUND (not published),
 *         RSM_ST_NOT_TO_NODE, RSM_ST_DENIED, RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES.
 */
enum rsm_status rsmcore_import_connect(struct rsmcore_controller *controller, uint32_t node,
                                       enum rsm_id_space space, uint32_t segment_id,
                                       uint32_t rights, struct rsmcore_import **out);
/**
 * Attach to a segment of the local node that its exporter shares: as a connection with all rights,
 * whose holder is one of those that have the segment (RSM_CONNECT_ATTACH in protocol/proto.h).
 * @return as rsmcore_import_connect(), RSM_ST_DENIED also where the segment is not shared;
 *         RSM_ST_NOT_PUBLISHED: it has no memory yet.
 */
enum rsm_status rsmcore_import_attach(struct rsmcore_controller *controller,
                                      enum rsm_id_space space, uint32_t segment_id,
                                      struct rsmcore_import **out);
/** Change the state of a segment that the connection is attached to: as rsmcore_export_move(). */
enum rsm_status rsmcore_import_move(struct rsmcore_import *import, const struct rsmcore_move *move,
                                    enum rsm_segment_state *was);
/** Drop the connection; all mappings have been unmapped by the caller. */
void rsmcore_import_disconnect(struct rsmcore_import *import);

/** Count a failed transfer, for all barriers that are open now (barrier.h). A cut connection is not
 *  counted: all later calls report it. Every function below does this itself. Returns @p status. */
static inline enum rsm_status rsmcore_import_note(struct rsmcore_import *import,
                                                  enum rsm_status status)
{
    if (__builtin_expect(status != RSM_ST_OK && status != RSM_ST_ABORTED, 0))
        atomic_fetch_add_explicit(&import->failures, 1, memory_order_relaxed);
    return status;
}

/** The number of transfers that have failed so far, including those whose calls returned
 *  success. */
static inline uint32_t rsmcore_import_failures(const struct rsmcore_import *import)
{
    return atomic_load_explicit(&import->failures, memory_order_acquire) +
           rsm_conn_failures(import->inner);
}

/** The connection that transfers go through now. */
static inline struct rsm_conn *rsmcore_import_conn(const struct rsmcore_import *import)
{
    return atomic_load_explicit(&import->conn, memory_order_acquire);
}

/** Whether the connection was cut: unpublished, exporter or its daemon gone, fabric lost. Once
 *  true it stays true. */
static inline bool rsmcore_import_aborted(const struct rsmcore_import *import)
{
    if (atomic_load_explicit(import->slot, memory_order_acquire) != import->generation ||
        !rsmcore_control_daemon_lives(import->control, import->table))
        return true;
    if (__builtin_expect(!import->reports_health, 1))
        return false;
    struct rsm_conn *conn = rsmcore_import_conn(import);
    return conn->ops->health(conn) != RSM_ST_OK;
}

static inline bool rsmcore_import_in_range(const struct rsmcore_import *import, uint64_t offset,
                                           uint64_t length)
{
    return offset <= import->length && length <= import->length - offset;
}

/** The mapping engine, once it has made a connection mappable; else NULL. */
extern const struct rsm_mapping_ops *_Atomic rsmcore_mapping_engine;

/** rsmcore_import_conn(), or what a transfer needs whose local memory is a software mapping. */
struct rsm_conn *rsmcore_import_conn_for_mapping(struct rsmcore_import *import, const void *local,
                                                 size_t length);

/** The connection for a transfer from or to @p local. A transport that cannot map is not handed
 *  memory of software mappings: its adapter would read what is there and not what the engine has
 *  still to bring. So such a connection becomes mappable, and the engine copies. */
static inline struct rsm_conn *rsmcore_import_conn_for(struct rsmcore_import *import,
                                                       const void *local, size_t length)
{
    if (__builtin_expect(
            atomic_load_explicit(&rsmcore_mapping_engine, memory_order_acquire) != NULL, 0))
        return rsmcore_import_conn_for_mapping(import, local, length);
    return rsmcore_import_conn(import);
}

/** Fire the tracing probe of a transfer of RSM_PROBE_TRANSFER_BYTES or more. Thread-safe.
 *  @param right  RSM_RIGHT_WRITE: a put, RSM_RIGHT_READ: a get. */
void rsmcore_import_probe(const struct rsmcore_import *import, uint32_t right, uint64_t offset,
                          uint64_t length);

/* Transfers: RSM_ST_DENIED without the right, RSM_ST_RANGE outside the segment (both unchecked by
 * transports), else what the transport says. An aborted connection is no error here: data goes to
 * or comes from memory that no longer belongs to any segment. Callers that have checked both,
 * against `rights` and `length`, use the unchecked forms, and call rsmcore_import_probe() for long
 * transfers. */

static inline enum rsm_status rsmcore_import_check(const struct rsmcore_import *import,
                                                   uint32_t right, uint64_t offset, uint64_t length)
{
    if ((import->rights & right) == 0)
        return RSM_ST_DENIED;
    return rsmcore_import_in_range(import, offset, length) ? RSM_ST_OK : RSM_ST_RANGE;
}

static inline enum rsm_status rsmcore_import_put_unchecked(struct rsmcore_import *import,
                                                           uint64_t offset, const void *src,
                                                           size_t length)
{
    struct rsm_conn *conn = rsmcore_import_conn_for(import, src, length);
    return rsmcore_import_note(import, conn->ops->put(conn, offset, src, length));
}

static inline enum rsm_status rsmcore_import_get_unchecked(struct rsmcore_import *import,
                                                           uint64_t offset, void *dst,
                                                           size_t length)
{
    struct rsm_conn *conn = rsmcore_import_conn_for(import, dst, length);
    return rsmcore_import_note(import, conn->ops->get(conn, offset, dst, length));
}

/** @p count elements of @p width bytes; offset and address aligned; count * width must not
 *  overflow. The caller has checked this, too. */
static inline enum rsm_status rsmcore_import_put_elems_unchecked(struct rsmcore_import *import,
                                                                 uint64_t offset, const void *src,
                                                                 unsigned width, size_t count)
{
    struct rsm_conn *conn = rsmcore_import_conn_for(import, src, count * width);
    return rsmcore_import_note(import, conn->ops->put_elems(conn, offset, src, width, count));
}

static inline enum rsm_status rsmcore_import_get_elems_unchecked(struct rsmcore_import *import,
                                                                 uint64_t offset, void *dst,
                                                                 unsigned width, size_t count)
{
    struct rsm_conn *conn = rsmcore_import_conn_for(import, dst, count * width);
    return rsmcore_import_note(import, conn->ops->get_elems(conn, offset, dst, width, count));
}

static inline enum rsm_status rsmcore_import_put(struct rsmcore_import *import, uint64_t offset,
                                                 const void *src, size_t length)
{
    enum rsm_status status = rsmcore_import_check(import, RSM_RIGHT_WRITE, offset, length);
    if (__builtin_expect(length >= RSM_PROBE_TRANSFER_BYTES, 0))
        rsmcore_import_probe(import, RSM_RIGHT_WRITE, offset, length);
    return status == RSM_ST_OK ? rsmcore_import_put_unchecked(import, offset, src, length) : status;
}

static inline enum rsm_status rsmcore_import_get(struct rsmcore_import *import, uint64_t offset,
                                                 void *dst, size_t length)
{
    enum rsm_status status = rsmcore_import_check(import, RSM_RIGHT_READ, offset, length);
    if (__builtin_expect(length >= RSM_PROBE_TRANSFER_BYTES, 0))
        rsmcore_import_probe(import, RSM_RIGHT_READ, offset, length);
    return status == RSM_ST_OK ? rsmcore_import_get_unchecked(import, offset, dst, length) : status;
}

/** Entries in order, the first failure stops; *done counts the complete ones. */
enum rsm_status rsmcore_import_putv(struct rsmcore_import *import, const struct rsm_transfer *vec,
                                    unsigned count, unsigned *done);
enum rsm_status rsmcore_import_getv(struct rsmcore_import *import, const struct rsm_transfer *vec,
                                    unsigned count, unsigned *done);

/** All earlier writes are visible before later ones. */
static inline enum rsm_status rsmcore_import_order(struct rsmcore_import *import)
{
    struct rsm_conn *conn = rsmcore_import_conn(import);
    return rsmcore_import_note(import, conn->ops->order(conn));
}

/** A put of what has been checked, and rsmcore_import_complete(), over a transport that has an
 *  operation for both. A connection that has become mappable has none. */
static inline enum rsm_status rsmcore_import_put_complete(struct rsmcore_import *import,
                                                          uint64_t offset, const void *src,
                                                          size_t length)
{
    struct rsm_conn *conn = rsmcore_import_conn_for(import, src, length);
    enum rsm_status status = conn->ops->put_complete != NULL
                                 ? conn->ops->put_complete(conn, offset, src, length)
                                 : conn->ops->put(conn, offset, src, length);
    if (status == RSM_ST_OK && conn->ops->put_complete == NULL)
        status = conn->ops->complete(conn);
    return rsmcore_import_note(import, rsmcore_import_aborted(import) ? RSM_ST_ABORTED : status);
}

/** Begin rsmcore_import_complete(), over a transport that can, and do not wait: for several imports
 *  that are to be completed at once. */
static inline void rsmcore_import_complete_begin(struct rsmcore_import *import)
{
    struct rsm_conn *conn = rsmcore_import_conn(import);
    if (conn->ops->complete_begin != NULL)
        conn->ops->complete_begin(conn);
}

/** Report what the engine counts to rsmd if that is more than it knows of: at once, or if
 *  the last report was some time ago. Does not wait. */
void rsmcore_import_report_counts(struct rsmcore_import *import, bool at_once);

/** Wait until all earlier accesses have happened or failed; barriers report which (barrier.h).
 *  RSM_ST_ABORTED: the connection was cut. */
static inline enum rsm_status rsmcore_import_complete(struct rsmcore_import *import)
{
    struct rsm_conn *conn = rsmcore_import_conn(import);
    enum rsm_status status = conn->ops->complete(conn);
    if (__builtin_expect(atomic_load_explicit(&import->soft, memory_order_relaxed) != NULL, 0))
        rsmcore_import_report_counts(import, false);
    return rsmcore_import_note(import, rsmcore_import_aborted(import) ? RSM_ST_ABORTED : status);
}

/** Loads from mappings see, from now on, what the segment has at this moment or later. */
static inline void rsmcore_import_acquire(struct rsmcore_import *import)
{
    const struct rsm_mapping_ops *soft = atomic_load_explicit(&import->soft, memory_order_acquire);
    if (__builtin_expect(soft != NULL, 0))
        soft->acquire(rsmcore_import_conn(import));
    if (__builtin_expect(import->acquires, 0))
        import->inner->ops->acquire(import->inner);
}

/**
 * Post an event to the exporter, which then finds all that this connection has written before. If
 * earlier data did not arrive, no event is posted.
 * @param coalesce  do not add to a counter that is not 0.
 * @return RSM_ST_OK, also if no receiver is left; RSM_ST_UNREACHABLE: the daemon is gone or silent;
 *         RSM_ST_NO_RESOURCES, RSM_ST_NO_MEMORY; else what the transport says, of this event or of
 *         the transfers before it.
 */
enum rsm_status rsmcore_import_post(struct rsmcore_import *import, bool coalesce);

/**
 * Map part of the segment: see map() in <rsm/transport.h>. Any number of mappings may coexist.
 * Where the transport cannot map, the mapping engine (mapping/) does it.
 * @return RSM_ST_OK, RSM_ST_ABORTED, RSM_ST_DENIED (more rights than granted), RSM_ST_RANGE,
 *         RSM_ST_ALIGNMENT, RSM_ST_UNSUPPORTED, RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES,
 *         RSM_ST_MAP_FAILED.
 */
enum rsm_status rsmcore_import_map(struct rsmcore_import *import, uint64_t offset, size_t length,
                                   uint32_t rights, bool fixed, void **address);
enum rsm_status rsmcore_import_unmap(struct rsmcore_import *import, void *address, size_t length);

RSMCORE_EXPORTS_END
