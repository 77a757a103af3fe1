/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Descriptors that a daemon has, and those that clients send it. */
#ifndef TESTS_RSMD_DESCRIPTORS_H
#define TESTS_RSMD_DESCRIPTORS_H

#include "peer.h"

enum { FDS_IN_A_PACKET = 253 /* SCM_MAX_FD of the kernel */ };

/** How many the daemon has open. */
unsigned descriptors_of(const struct daemon *daemon);

/** From now on descriptors come through to the daemon's sockets, as on kernels that cannot refuse
 *  them (before Linux 6.16), until it looks at the connection.
 *  False, saying so: that cannot be done here, as in many containers. */
bool let_descriptors_in(const struct daemon *daemon);

/** Send a packet with descriptors; 0 or errno. */
int send_with(int socket, const void *bytes, size_t length, const int *fds, unsigned count);

#endif
