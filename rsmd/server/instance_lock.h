/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * One daemon per node: the lock that says who it is, the socket that only the lock's holder may
 * make or remove, and the word to whoever started it.
 */
#ifndef RSMD_INSTANCE_LOCK_H
#define RSMD_INSTANCE_LOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol/runtime.h"

/** Connections that wait to be accepted. Whoever comes waits for all of them, and anybody can fill
 *  the queue. Accepting one and serving it once takes some 25 us, so SOMAXCONN of them would take
 *  longer than anybody is to wait (100 ms). A library that finds no room tries again until its
 *  time-out. packaging/systemd/rsmd.socket.in says the same to a service manager. */
enum { RSMD_BACKLOG = 512 };

struct rsmd_instance {
    char lock_path[RSM_PROTO_PATH_MAX];
    char socket_path[RSM_PROTO_PATH_MAX];
    int lock;            /* held; -1 if not */
    bool configured;     /* the lock file stays: see protocol/runtime.h */
    bool socket_is_ours; /* bound here, to be unlinked at the end */
};

enum rsmd_lock_result {
    RSMD_LOCK_TAKEN,
    RSMD_LOCK_BUSY,     /* another daemon runs */
    RSMD_LOCK_RESERVED, /* none runs, and the node is for a configured one */
    RSMD_LOCK_FAILED,   /* errno says why */
};

/** Take the node's lock. @p socket_path NULL: the usual one. @p configured: this daemon is a
 *  configured one, and from now on the node is for such alone. */
enum rsmd_lock_result rsmd_instance_lock(struct rsmd_instance *instance,
                                         const struct rsmcore_runtime *runtime,
                                         const char *socket_path, bool configured);
/** The same by the lock that a predecessor has left, which is the instance's or closed afterwards;
 *  -1: there is none. */
enum rsmd_lock_result rsmd_instance_relock(struct rsmd_instance *instance,
                                           const struct rsmcore_runtime *runtime,
                                           const char *socket_path, bool configured, int lock);
/** Go on listening at the socket that a predecessor has bound, if it is the node's. False: it is
 *  not, and still the caller's. */
bool rsmd_instance_relisten(struct rsmd_instance *instance, int listener);

/** Bind the socket, removing what a dead predecessor left, and listen. @p everybody: any user may
 *  connect. The descriptor, or -1 with errno. */
int rsmd_instance_listen(struct rsmd_instance *instance, bool everybody);

/**
 * Make the listening socket that a service manager has passed known as the node's. Bound to the
 * node's own path it is that already. Bound elsewhere it gets a symbolic link at that path, which
 * stays when the daemon ends, because the socket does. Links of other nodes to it, left from a time
 * when the host had another id, go away with their marks.
 * @return false, with errno: it is no socket with a path (EINVAL), or the link cannot be made.
 */
bool rsmd_instance_adopt(struct rsmd_instance *instance, const struct rsmcore_runtime *runtime,
                         int listener);

/** Remove the socket: nobody finds this daemon from now on. */
void rsmd_instance_unlink(struct rsmd_instance *instance);

/** Release the lock, and remove the socket if it is still there. The lock file is removed, too,
 *  but for that of a configured daemon. */
void rsmd_instance_unlock(struct rsmd_instance *instance);

/** Tell the starter through @p fd (-1: nobody waits) that clients are served; closes it. */
void rsmd_start_ready(int fd);
/** Tell the starter that another daemon is this node; closes it. */
void rsmd_start_not_needed(int fd);
/** Tell the starter in one line why not; closes it. */
void rsmd_start_failed(int fd, const char *why);

#endif
