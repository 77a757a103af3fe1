/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Groups: one segment id on many nodes, and a writer that is connected to all of them.
 *
 *  A member is a segment that its node exports under the group's id, with memory, rights and events
 *  of its own. The writer has an import of each (import.h) and puts to all of them. Nodes that
 *  begin to export the id become members when the writer looks for them, which it does at barriers
 *  and waits: at most ten times a second, and for at most a twentieth of the time. No thread runs
 *  for a group.
 *
 *  All functions are thread-safe; one call at a time has the group. In a forked child all but
 *  rsmcore_group_disconnect() return RSM_ST_STALE. */
#pragma once

#include <stdbool.h>

#include "base/exports.h"
#include "core/controller.h"

RSMCORE_EXPORTS_BEGIN

struct rsmcore_group;

/** A node whose segment is a member, or that has one and does not let this process write. */
struct rsmcore_group_member {
    uint32_t node;
    enum rsm_status status; /**< RSM_ST_OK: a member; else why it could not be connected */
    uint64_t length;        /**< of a member: bytes of its copy, whole pages */
    uint64_t size;          /**< the same as the exporter asked for */
};

enum rsmcore_group_change {
    RSMCORE_GROUP_JOINED = 1, /**< the node is a member: it gets what is put from now on */
    RSMCORE_GROUP_LEFT,       /**< it is none any more */
    RSMCORE_GROUP_REFUSED,    /**< it has the segment, and could not be connected */
    RSMCORE_GROUP_OVERFLOW,   /**< changes before this one were dropped */
};

struct rsmcore_group_event {
    enum rsmcore_group_change change;
    uint32_t node;
    enum rsm_status status; /**< why it has left or was refused */
};

/**
 * Be a writer of the group @p segment_id of a name space, on the nodes that @p controller reaches
 * and on the local one. Members are looked for at once; there need be none.
 * @return RSM_ST_OK, RSM_ST_NO_MEMORY; RSM_ST_UNREACHABLE: no daemon; else what
 *         rsmcore_controller_nodes() says.
 */
enum rsm_status rsmcore_group_connect(struct rsmcore_controller *controller,
                                      enum rsm_id_space space, uint32_t segment_id,
                                      struct rsmcore_group **group);
/** Disconnect from all members. No other call on the group is under way. */
void rsmcore_group_disconnect(struct rsmcore_group *group);

/**
 * Put to the copy of every member. A member whose copy is too small, or that cannot be written,
 * lacks the data, which the next rsmcore_group_close() reports; the others get it.
 * @return RSM_ST_OK, also where there is no member; RSM_ST_RANGE: no member's copy has this range,
 *         and nothing was put; RSM_ST_STALE.
 */
enum rsm_status rsmcore_group_put(struct rsmcore_group *group, uint64_t offset, const void *src,
                                  size_t length);

/** At each member, what was put before is visible before what is put later. A member where that
 *  cannot be promised lacks data. RSM_ST_OK, RSM_ST_STALE. */
enum rsm_status rsmcore_group_order(struct rsmcore_group *group);

/**
 * Wait until every member has what was put, or is known to lack some of it; for all members at
 * once. Then look for new members, if it is time.
 * @param lacking  receives how many of those that were members when something was put, since the
 *                 last call by any thread, do not have all of it.
 * @return RSM_ST_OK; RSM_ST_TRANSFER: *lacking is not 0; RSM_ST_STALE.
 */
enum rsm_status rsmcore_group_close(struct rsmcore_group *group, unsigned *lacking);

/** Post an event to every member (rsmcore_import_post()). RSM_ST_OK: all have it; RSM_ST_STALE: as
 *  above; else why the last of those that do not have it could not get it. */
enum rsm_status rsmcore_group_post(struct rsmcore_group *group, bool coalesce);

/**
 * List the members and those that refuse, after a look for changes.
 * @param count  entries of @p members; receives how many there are, which may be more.
 */
enum rsm_status rsmcore_group_members(struct rsmcore_group *group,
                                      struct rsmcore_group_member *members, unsigned *count);

/**
 * Take the oldest change of the membership, waiting up to @p timeout_ms milliseconds for one (0:
 * not at all, negative: for ever). The last 64 are kept.
 * @return RSM_ST_OK, RSM_ST_TIMEOUT; RSM_ST_INTERRUPTED: a signal handler ran; RSM_ST_STALE.
 */
enum rsm_status rsmcore_group_event(struct rsmcore_group *group, int timeout_ms,
                                    struct rsmcore_group_event *event);

RSMCORE_EXPORTS_END
