/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * One daemon per node: the instance lock, the socket that only the lock's holder may make or
 * remove, and the report to the starter.
 */
#ifndef RSMD_INSTANCE_LOCK_H
#define RSMD_INSTANCE_LOCK_H

#include <stdbool.h>

#include "protocol/runtime.h"

/** The maximum of connections that wait to be accepted. A new connection waits for all of them, and
 *  any process can fill the queue. Accepting and serving one takes some 25 us, so SOMAXCONN of them
 *  would take longer than the 100 ms that a client should wait at most. A library that finds no
 *  room tries again until its time-out. packaging/systemd/rsmd.socket.in has the same number for a
 *  service manager. */
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
    RSMD_LOCK_RESERVED, /* none runs, and the node is reserved for a configured one */
    RSMD_LOCK_FAILED,   /* with errno */
};

/** Take the node's lock. @p socket_path NULL: the usual one. @p configured: this is a configured
 *  daemon, and from now on the node is reserved for such. @p lock: that of a predecessor, which the
 *  instance owns afterwards or which is closed; -1: there is none. */
enum rsmd_lock_result rsmd_instance_lock(struct rsmd_instance *instance,
                                         const struct rsmcore_runtime *runtime,
                                         const char *socket_path, bool configured, int lock);
/** Listen at a predecessor's socket, if it is the node's. False: it is not, and the caller keeps
 *  it. */
bool rsmd_instance_relisten(struct rsmd_instance *instance, int listener);

/** Bind the socket, in place of a dead predecessor's, and listen. @p everybody: any user may
 *  connect. Returns the descriptor, or -1 with errno. */
int rsmd_instance_listen(struct rsmd_instance *instance, bool everybody);

/**
 * Adopt the listening socket that a service manager has passed as the node's. If it is bound to
 * another path than the node's, that path becomes a symbolic link to it, which stays when the
 * daemon ends, as the socket does. Symbolic links of other nodes to it, from a time when the host
 * had another id, are removed with their marks.
 * @return false, with errno: it is no socket with a path (EINVAL), or the link cannot be made.
 */
bool rsmd_instance_adopt(struct rsmd_instance *instance, const struct rsmcore_runtime *runtime,
                         int listener);

/** Remove the socket: no client finds this daemon from now on. */
void rsmd_instance_unlink(struct rsmd_instance *instance);

/** Release the lock, and remove the socket and the lock file. The lock file of a configured daemon
 *  stays. */
void rsmd_instance_unlock(struct rsmd_instance *instance);

/** Report to the starter on @p fd that clients are served, and close it. -1: no starter waits. */
void rsmd_start_ready(int fd);
/** Report that another daemon has this node, and close @p fd. */
void rsmd_start_not_needed(int fd);
/** Report the reason of a failure, one line, and close @p fd. */
void rsmd_start_failed(int fd, const char *why);

#endif
