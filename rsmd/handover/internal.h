/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What both sides of a handover use. */
#ifndef RSMD_HANDOVER_INTERNAL_H
#define RSMD_HANDOVER_INTERNAL_H

#include "common/snapshot.h"
#include "server/server.h"

/** One descriptor is handed over: a queue (queue.c) of state, table, lock, the listener if there is
 *  one, and those of the snapshot. The service manager stores it under this name, whose number
 *  changes with the content of the queue. A program executed in place finds the descriptor's number
 *  in this environment variable. */
#define RSMD_HANDOVER_STORED   "rsmd-state-1"
#define RSMD_HANDOVER_VARIABLE "RSMD_HANDOVER"
enum { RSMD_HANDOVER_OWN = 3 }; /* state, table and lock */

struct rsmd_parcel {
    struct rsmd_snapshot snapshot;
    int state, table, lock, listener;
};

/* state.c: the whole state of a daemon in a snapshot: clients' connections, and what they have. */

/** Save all of a settled server. */
void rsmd_state_save(struct rsmd_snapshot *snapshot, const struct rsmd_server *server);

/** Restore it into a server without clients. The generation table is the predecessor's, and has
 *  free slots afterwards. A client that cannot be resumed ends as if its process had ended; the
 *  reason is logged. False: it is not the state of this node, or no memory; nothing was
 *  restored. */
bool rsmd_state_restore(struct rsmd_snapshot_reader *reader, struct rsmd_server *server);

/* queue.c:
 *
 * Any number of descriptors as one. They wait in the queue of a socket, in order. The kernel bounds
 * its buffer (net.core.wmem_max); if one does not take all, they wait in several sockets, which
 * wait in one more. So a keeper of single descriptors gets all of them or none. They can be taken
 * out once. When no process holds the socket any more, the kernel closes those that were not taken.
 */

/** The requested size of the buffer. Tests have a smaller one. */
extern int rsmd_queue_buffer;

/**
 * Put @p count descriptors, which the caller keeps, into a queue. One that the kernel refuses is
 * left out: a socket in whose queue others are nested too deeply, or any beyond the RLIMIT_NOFILE
 * of an unprivileged user, which bounds the descriptors in its sockets.
 * @param needed  the first @p needed must not be left out.
 * @return its descriptor, or -1 with errno: EAGAIN if there are more than 2 million; EBADF or
 *         ETOOMANYREFS if one that is needed is refused.
 */
int rsmd_queue_fill(const int *fds, uint32_t count, uint32_t needed);

/**
 * Take all descriptors out of a queue, close-on-exec and above 2. The caller keeps the empty queue.
 * @param fds  receives the list; the caller closes the descriptors and frees it; -1 for each that
 *             was left out, or that exceeds this process's limit.
 * @return how many were put; 0, with errno: it is no queue, or even the first one is missing
 *         (EBADMSG).
 */
uint32_t rsmd_queue_empty(int queue, int **fds);

#endif
