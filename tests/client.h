/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A client that speaks the control protocol without the library, for tests that want more of a
 * daemon than the library asks for, or ask as another user. It asserts nothing and keeps nothing.
 */
#ifndef TESTS_CLIENT_H
#define TESTS_CLIENT_H

#include "base/packet.h"
#include "protocol/proto.h"

/** Connect to the daemon of a node of RSM_RUNTIME_DIR: a socket, or less than 0. */
int client_connect(unsigned node);

/**
 * Send a request, and put the reply in its place.
 * @param fds         gets the descriptors; NULL: they are closed.
 * @param timeout_ms  how long to wait for the reply.
 * @return its status, or what came instead of a reply.
 */
enum { CLIENT_HUNG_UP = -1, CLIENT_SILENCE = -2, CLIENT_NO_MESSAGE = -3 };
int client_ask(int socket, struct rsm_msg *msg, struct rsm_packet_fds *fds, int timeout_ms);

/** The same for HELLO as a process of @p node. */
int client_hello(int socket, uint32_t node, int timeout_ms);

#endif
