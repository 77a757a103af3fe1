/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Any number of descriptors as one. They wait in the queue of a socket, in order. The kernel bounds
 * its buffer (net.core.wmem_max); if one does not take all, they wait in several sockets, which
 * wait in one more. So a keeper of single descriptors gets all of them or none. They can be taken
 * out once. When no process holds the socket any more, the kernel closes those that were not taken.
 */
#ifndef RSMD_QUEUE_H
#define RSMD_QUEUE_H

#include <stdint.h>

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
