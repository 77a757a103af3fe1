/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Control connections of this process: one to the rsmd of the local node, and one to each
 *  other node of this host that it imports from. The library starts the local rsmd if none runs and
 *  the node is embedded.
 *
 *  A control connection is reference-counted and belongs to the process that made it; in a forked
 *  child, calls on an inherited one return RSM_ST_STALE. All functions are thread-safe. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/exports.h"
#include "base/packet.h"
#include "protocol/proto.h"
#include "protocol/sharedmem.h"

struct rsmcore_control;

/** The time limit, in milliseconds, for finding or starting the local node's rsmd and getting its
 *  answer. Ten seconds, except in tests. */
extern int rsmcore_control_local_max_ms;

/** Get the control connection to the local node's rsmd. It is made if there is none or the last one
 *  broke. A daemon that the library may not start (protocol/runtime.h) is waited for.
 *  RSM_ST_UNREACHABLE: no daemon runs and none could be started, or the process that listens is not
 *  trusted (protocol/trust.h); RSM_ST_INVALID: RSM_NODE is wrong. */
enum rsm_status rsmcore_control_local(struct rsmcore_control **control);

/** Get a control connection to the rsmd of @p node that listens at @p path on this host.
 *  RSM_ST_DENIED: the process that listens there is not trusted. */
enum rsm_status rsmcore_control_to(uint32_t node, const char *path,
                                   struct rsmcore_control **control);

/** The existing control connection to a node of this host. NULL: there is none, or its daemon has
 *  gone. */
struct rsmcore_control *rsmcore_control_known(uint32_t node);

/** Take another reference to a control connection. The caller holds one already. */
struct rsmcore_control *rsmcore_control_hold(struct rsmcore_control *control);

/** Drop a reference. The connection closes with the last one; the library keeps that to the local
 *  node until the process ends or it breaks. NULL is harmless. */
void rsmcore_control_release(struct rsmcore_control *control);

/**
 * Send a request and wait for its reply. Any number of threads may call this at once; none waits
 * for the reply of another. Not a cancellation point.
 *
 * @param msg      the request; the reply on return.
 * @param receive  the descriptors that came with the reply, which the caller owns; NULL when none
 *                 are expected.
 * @return the status of the reply; or RSM_ST_TIMEOUT when rsmd did not answer within the peer
 *         timeout (the control connection stays usable, a late reply is discarded), RSM_ST_STALE
 *         when the daemon has gone or the control connection is another process's,
 *         RSM_ST_NO_RESOURCES when there was no room for the descriptors. *receive is empty unless
 *         RSM_ST_OK is returned.
 */
enum rsm_status rsmcore_control_call(struct rsmcore_control *control, struct rsm_msg *msg,
                                     struct rsm_packet_fds *receive);

/** Send a request without waiting; its reply is discarded. rsmd carries requests out in order, so
 *  this can take back one that was not answered in time. A control connection on which the request
 *  cannot be sent is given up. */
void rsmcore_control_post(struct rsmcore_control *control, struct rsm_msg *msg);

/** Whether the daemon knows a message of this type, enum rsm_msg_type. */
bool rsmcore_control_knows(const struct rsmcore_control *control, uint32_t type);

/** As rsmcore_control_post(), for what rsmd need not know: a request that cannot be sent, for lack
 *  of room or memory, is dropped and the control connection stays. Takes the replies of earlier
 *  ones, so that any number can be posted, and overwrites *msg. */
void rsmcore_control_try_post(struct rsmcore_control *control, struct rsm_msg *msg);

/** The node at the other end. */
uint32_t rsmcore_control_node(const struct rsmcore_control *control);

/** The peer time-out of the node at the other end, in milliseconds. */
uint32_t rsmcore_control_timeout(const struct rsmcore_control *control);

/** The generation table of the rsmd at the other end. Valid while the caller holds a reference. */
const struct rsm_generation_table *
rsmcore_control_generation_table(const struct rsmcore_control *control);

/** The slow part of rsmcore_control_daemon_lives(): whether a daemon that no longer owns its table
 *  has left a moment ago and the service manager holds its end of the connection for a successor.
 *  Keeps errno. */
RSMCORE_EXPORTS_BEGIN
bool rsmcore_control_has_successor(const struct rsmcore_control *control);
RSMCORE_EXPORTS_END

/** Whether the rsmd at the other end of @p control runs or is being replaced. @p table is its
 *  generation table. Makes no system call, except while rsmd is being replaced. */
static inline bool rsmcore_control_daemon_lives(const struct rsmcore_control *control,
                                                const struct rsm_generation_table *table)
{
    return __builtin_expect((atomic_load_explicit(&table->alive, memory_order_acquire) &
                             (RSM_GENERATION_TABLE_OWNER_DIED | RSM_GENERATION_TABLE_LEFT)) == 0,
                            1) ||
           rsmcore_control_has_successor(control);
}

/** Whether requests can be answered: the connection has not broken and the daemon has not died.
 *  Also works on a parent's control connection in a forked child. Makes no system call. */
bool rsmcore_control_is_alive(const struct rsmcore_control *control);

/** A number that differs between a process and its forked children. No system call. */
unsigned rsmcore_process_epoch(void);
