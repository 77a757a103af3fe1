/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The place of a node's daemon: runtime directory, socket and lock names, node id. The
 *  library looks there, and rsmd listens there.
 *
 *  Order: `RSM_RUNTIME_DIR`; else the system directory, if any daemon listens there or is
 *  configured to; else `$XDG_RUNTIME_DIR/rsm`; else `/tmp/rsm-<uid>`. If another user has made that
 *  one, `/run/user/<uid>/rsm` takes its place, if root has made `/run/user/<uid>` for this user.
 *  The choice does not depend on the node, because only nodes of one directory find each other: if
 *  the system has nodes, an id that is none of them is an error. In a set-user-id program the
 *  environment is not looked at. No directory is used that another user could have made
 *  (protocol/trust.h): such an `XDG_RUNTIME_DIR` is passed over, any other one is an error. The
 *  node id is `RSM_NODE`, else that of the system's daemon (the lowest if there are several), else
 *  1.
 *
 *  A service manager may listen in the system directory at RSMCORE_SERVICE_SOCKET before the node's
 *  id is known, which the daemon determines when it starts. While there is no node, a process that
 *  looks for one connects to this socket, which starts the daemon, and waits for the node's socket.
 *
 *  The lock file of a daemon that the library has started is empty and is removed with it. Any
 *  other daemon is *configured*: its lock file has a mark and stays when the daemon ends, however
 *  it ends. The library then starts no other daemon; clients wait for the configured one to come
 *  back. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/proto.h"

struct rsmcore_runtime {
    char directory[RSM_PROTO_PATH_MAX - 16]; /* room for the names below it */
    bool system;                             /* the system's directory: nothing is started there */
    uint32_t node;                           /* 1..RSM_NODE_ID_MAX */
};

/** Decide from environment and file system. RSM_ST_INVALID: RSM_NODE is no node id;
 *  RSM_ST_DENIED: the directory is not safe; RSM_ST_UNREACHABLE: the system has nodes, and the one
 *  asked for is none of them. The reason has been logged. Nothing is created. May
 *  wait ten seconds for the system's daemon to start. */
enum rsm_status rsmcore_runtime_find(struct rsmcore_runtime *runtime);

/** Name of the service manager's socket in the system directory. */
#define RSMCORE_SERVICE_SOCKET "rsmd.sock"

/** Make sure that the directory exists and is safe. Creates it with mode 0700. */
enum rsm_status rsmcore_runtime_prepare(const struct rsmcore_runtime *runtime);

/** `<directory>/node-<id>.sock`. @p path has RSM_PROTO_PATH_MAX bytes. */
void rsmcore_runtime_socket(const struct rsmcore_runtime *runtime, uint32_t node, char *path);

/** `<directory>/node-<id>.lock`, held (flock) by a running rsmd of that node. */
void rsmcore_runtime_lock(const struct rsmcore_runtime *runtime, uint32_t node, char *path);

/** The content of a configured daemon's lock file. Users who may not read it see that it is not
 *  empty. They must not be able to open it, because then they could lock it, too. */
#define RSMCORE_CONFIGURED "configured\n"

/** Whether the node belongs to a configured daemon, running or not. */
bool rsmcore_runtime_is_configured(const struct rsmcore_runtime *runtime, uint32_t node);

/**
 * Call @p visit for each name in the directory that is one of a socket or a lock file, with its
 * node: in no order, a node twice if it has both. Only the directory is read.
 * @param suffix  "sock" or "lock"; NULL: both.
 * @return false: the directory cannot be read; errno has the reason.
 */
bool rsmcore_runtime_each(const struct rsmcore_runtime *runtime, const char *suffix,
                          void (*visit)(void *context, uint32_t node), void *context);

/** Parse a node id, 1..RSM_NODE_ID_MAX, decimal; 0 if it is none. */
uint32_t rsmcore_node_id_parse(const char *text);
