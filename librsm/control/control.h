/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Control connections of this process: one to the rsmd of its own node, which is started if the
 * node is embedded and none runs, and one to each other node of this host that it imports from.
 *
 * A link is reference-counted and belongs to the process that made it; in a forked child every
 * inherited link answers RSM_ST_STALE. All functions are thread-safe.
 */
#ifndef RSMCORE_CONTROL_H
#define RSMCORE_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/exports.h"
#include "protocol/packet.h"
#include "protocol/proto.h"
#include "protocol/sharedmem.h"

struct rsmcore_control;

/** What finding the own node's rsmd, starting it and having it answer may take together. Ten
 * seconds, but in tests. */
extern int rsmcore_control_local_max_ms;

/** The link to the own node's rsmd, made if there is none or the last one broke. A daemon that the
 *  library may not start (protocol/runtime.h) is waited for. RSM_ST_UNREACHABLE: no daemon and none
 *  could be started, none came, or whoever listens is not trusted (protocol/trust.h);
 *  RSM_ST_INVALID: RSM_NODE is wrong. */
enum rsm_status rsmcore_control_local(struct rsmcore_control **control);

/** A link to the rsmd of @p node that listens at @p path on this host. RSM_ST_DENIED: whoever
 * listens there is not trusted. */
enum rsm_status rsmcore_control_to(uint32_t node, const char *path,
                                   struct rsmcore_control **control);

/** The link to a node of this host that there is already, or NULL: none, or its daemon has gone. */
struct rsmcore_control *rsmcore_control_known(uint32_t node);

/** One more reference to a link that the caller holds one of. */
struct rsmcore_control *rsmcore_control_hold(struct rsmcore_control *control);

/** Give one reference up. The connection closes with the last one; the own node's is kept by the
 *  library until the process ends or it breaks. NULL is harmless. */
void rsmcore_control_release(struct rsmcore_control *control);

/**
 * Send a request, wait for its reply. Any number of threads may be at it at once; none waits for
 * the reply of another. No cancellation point.
 *
 * @param msg      the request; the reply on return.
 * @param receive  descriptors that came with the reply, the caller's from then on; NULL when none
 *                 are expected.
 * @return the status of the reply; or RSM_ST_TIMEOUT when rsmd did not answer within the peer
 *         timeout (the link stays usable: a late reply is thrown away), RSM_ST_STALE when the
 *         daemon has gone or the link is another process's, RSM_ST_NO_RESOURCES when there was no
 *         room for the descriptors. *receive is empty unless RSM_ST_OK is returned.
 */
enum rsm_status rsmcore_control_call(struct rsmcore_control *control, struct rsm_msg *msg,
                                     struct rsm_packet_fds *receive);

/** Send a request and wait for nothing; its reply will be thrown away. rsmd carries requests out in
 *  order, so this takes back one that was not answered in time. A link on which not even that can
 *  be sent is given up. */
void rsmcore_control_post(struct rsmcore_control *control, struct rsm_msg *msg);

/** The same for what rsmd need not know: where there is no room for it, or no memory, it is dropped
 *  and the link stays. */
void rsmcore_control_try_post(struct rsmcore_control *control, struct rsm_msg *msg);

/** The node at the other end. */
uint32_t rsmcore_control_node(const struct rsmcore_control *control);

/** The peer time-out of the node at the other end, in milliseconds. */
uint32_t rsmcore_control_timeout(const struct rsmcore_control *control);

/** Generation table of the rsmd at the other end; valid as long as the link is held. */
const struct rsm_generation_table *
rsmcore_control_generation_table(const struct rsmcore_control *control);

/** The rest of rsmcore_control_daemon_lives(), of a daemon that does not hold its word: whether it
 *  has left a moment ago, and the service manager holds its end of the connection for the next one.
 *  errno stays. */
RSMCORE_EXPORTS_BEGIN
bool rsmcore_control_has_successor(const struct rsmcore_control *control);
RSMCORE_EXPORTS_END

/** Whether the rsmd at the other end of a link, whose table that is, still runs, or is being
 *  replaced. No system call, but while it is being replaced. */
static inline bool rsmcore_control_daemon_lives(const struct rsmcore_control *control,
                                                const struct rsm_generation_table *table)
{
    return __builtin_expect((atomic_load_explicit(&table->alive, memory_order_acquire) &
                             (RSM_GENERATION_TABLE_OWNER_DIED | RSM_GENERATION_TABLE_LEFT)) == 0,
                            1) ||
           rsmcore_control_has_successor(control);
}

/** Whether requests can be answered: the connection has not broken and the daemon has not died.
 * Also of a parent's link, in a forked child. No system call. */
bool rsmcore_control_is_alive(const struct rsmcore_control *control);

/** A number that differs between a process and its forked children. No system call. */
unsigned rsmcore_process_epoch(void);

#endif
