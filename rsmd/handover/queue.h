/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Any number of descriptors as one. They wait in the queue of a socket, in order. The kernel bounds
 * its buffer (net.core.wmem_max); if that does not take all, they wait in as many sockets as it
 * takes, and these wait in one more. So somebody who keeps single descriptors can be given all of
 * them or none. They can be taken out once. When nobody holds the socket any more, the kernel
 * closes those that were not taken.
 */
#ifndef RSMD_QUEUE_H
#define RSMD_QUEUE_H

#include <stdint.h>

/** The buffer that is asked for. Tests have a smaller one. */
extern int rsmd_queue_buffer;

/**
 * Put @p count descriptors, which stay the caller's, into a queue. One that the kernel refuses is
 * left out: a socket in whose queue others wait too deeply nested, or what comes when the processes
 * of an unprivileged user have as many descriptors in sockets as its RLIMIT_NOFILE says.
 * @param needed  so many, from the first one on, must not be left out.
 * @return its descriptor, or -1 with errno: EAGAIN if there are more than 2 million; EBADF or
 *         ETOOMANYREFS if one that is needed is refused.
 */
int rsmd_queue_fill(const int *fds, uint32_t count, uint32_t needed);

/**
 * Take all descriptors out of a queue, close-on-exec and none of them a standard stream; it stays
 * the caller's, and empty.
 * @param fds  theirs, to be closed and the list freed by the caller; -1 for each that was left out,
 *              or that this process may not have any more.
 * @return how many were to be put; 0, with errno: it is no queue, or not even the first one is
 *         there (EBADMSG).
 */
uint32_t rsmd_queue_empty(int queue, int **fds);

#endif
