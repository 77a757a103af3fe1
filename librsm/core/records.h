/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Records of connections. An exporter gets one when an importer connects, disconnects or is
 *  lost; an importer gets one when the segment becomes unavailable or is lost.
 *
 *  rsmd keeps them in order (protocol/proto.h: struct rsm_record, enum rsm_record_event) from the
 *  first request until a wait takes them. It keeps a bounded number, and a record reports how many
 *  were dropped beyond that. Each record is delivered once, to one waiting thread. All functions
 *  are thread-safe, but none may be running when the records are destroyed. */
#pragma once

#include "base/exports.h"
#include "core/export.h"
#include "core/import.h"

RSMCORE_EXPORTS_BEGIN

struct rsmcore_records;

/**
 * Keep records of a segment's connections, or of a connection, from now on. They are to be
 * destroyed before the segment is destroyed or the connection dropped.
 * @return RSM_ST_OK, RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES; RSM_ST_STALE: the daemon has gone, or
 *         this is not the process that made the handle; RSM_ST_TIMEOUT.
 */
enum rsm_status rsmcore_records_of_export(struct rsmcore_export *segment,
                                          struct rsmcore_records **records);
enum rsm_status rsmcore_records_of_import(struct rsmcore_import *import,
                                          struct rsmcore_records **records);
void rsmcore_records_destroy(struct rsmcore_records *records);

/**
 * Take the oldest record, waiting up to @p timeout_ms milliseconds for one (0: not at all,
 * negative: for ever). Once the daemon has died no more records come, except one last
 * RSM_RECORD_LOST to an importer.
 * @return RSM_ST_OK and *record; RSM_ST_TIMEOUT; RSM_ST_INTERRUPTED: a signal handler ran;
 *         RSM_ST_STALE: cancelled, or the exporter's daemon has died; RSM_ST_ABORTED: the
 *         connection's daemon has died, and that was reported before; else what
 *         rsmcore_control_call() says, and the record comes by a later call.
 */
enum rsm_status rsmcore_records_wait(struct rsmcore_records *records, int timeout_ms,
                                     struct rsm_record *record);

/** Let all that wait, and all that will, return RSM_ST_STALE. */
void rsmcore_records_cancel(struct rsmcore_records *records);

/** A descriptor that poll(2), select(2) and epoll(7) report readable while a record can be taken or
 *  after a cancellation. The same at each call; closed by rsmcore_records_destroy(). */
enum rsm_status rsmcore_records_descriptor(struct rsmcore_records *records, int *fd);

/** The event counter, to sleep on (core/event_sleep.h). It is open. */
struct rsmcore_event *rsmcore_records_event(const struct rsmcore_records *records);

RSMCORE_EXPORTS_END

/** Records of handle @p id on @p control; see rsmcore_records_of_export(). @p import: of a
 *  connection, which outlives them; else NULL. */
enum rsm_status rsmcore_records_make(struct rsmcore_control *control, enum rsm_event_end end,
                                     uint32_t id, struct rsmcore_import *import,
                                     struct rsmcore_records **records);
