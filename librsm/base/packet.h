/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Packets with descriptors over unix SOCK_SEQPACKET sockets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { RSM_PACKET_FDS_MAX = 64 /* descriptors beside one packet */ };

/** A received or to-be-sent packet's companions. */
struct rsm_packet_fds {
    unsigned count;
    int fds[RSM_PACKET_FDS_MAX];
};

/** What the kernel says of a packet's sender (SO_PASSCRED must be on to receive it). */
struct rsm_packet_sender {
    bool known; /* false: nothing, and the rest is 0 */
    pid_t pid;  /* 0: of a process that this one's pid namespace does not show */
    uid_t uid;
    gid_t gid;
};

/**
 * Send one packet without blocking and without SIGPIPE.
 * @param fds      descriptors to pass, or NULL; they stay the caller's.
 * @param as_self  nonzero: state the process's effective ids, which the kernel verifies (a plain
 *                 packet carries the real ones).
 * @return 0, or a negative errno value: -EAGAIN when the receiver does not keep up.
 */
int rsm_packet_send(int socket, const void *bytes, size_t length, const struct rsm_packet_fds *fds,
                    int as_self);

/**
 * Receive one packet without blocking. All descriptors received are close-on-exec and above 2;
 * if the packet is refused they have been closed.
 * @param fds     filled; NULL if none are expected (any that come are closed).
 * @param sender  filled if not NULL.
 * @return length of the packet; 0 at end of file or for an empty packet, with no descriptors; a
 *         negative errno value: -EAGAIN when there is none, -EMSGSIZE when packet or descriptors
 *         were truncated, -EMFILE when this process has no descriptors left for those sent: then
 *         @p bytes has the packet, the rest of @p bytes is as before, and its length is lost.
 */
ssize_t rsm_packet_receive(int socket, void *bytes, size_t capacity, struct rsm_packet_fds *fds,
                           struct rsm_packet_sender *sender);

/** The same, but wait for a packet for as long as rsm_packet_await_for() has said. -EAGAIN: none
 *  came, or a signal did. */
ssize_t rsm_packet_await(int socket, void *bytes, size_t capacity, struct rsm_packet_fds *fds);
/** @param max_ms  not 0. @return 0, or -1 with errno. */
int rsm_packet_await_for(int socket, uint32_t max_ms);

/**
 * Have the kernel refuse descriptors that are sent to this socket, and to those that a listening
 * socket makes from now on; their senders get EPERM. Linux can do that since 6.16.
 * @return whether it has refused them for as long as the socket exists. If not, some may be waiting
 *         in its queue, or, with an older kernel, may come at any time: see rsm_packet_peek().
 */
bool rsm_packet_refuse_fds(int socket);

/**
 * Peek at the next packet, without waiting. For sockets on which no descriptors are expected, with
 * SO_PASSCRED set: a received descriptor has to be closed, which can block for as long as its
 * sender likes. So can closing a socket whose queue holds such a packet.
 * @param head         gets the packet's first @p size bytes at most.
 * @param brings_fds   whether there are descriptors beside it.
 * @return bytes in @p head; 0 at end of file or for an empty packet; a negative errno value.
 */
ssize_t rsm_packet_peek(int socket, void *head, size_t size, bool *brings_fds);

/** Close what is in @p fds and make it empty. */
void rsm_packet_fds_close(struct rsm_packet_fds *fds);

/** Make a unix SEQPACKET socket connected to @p path, non-blocking; -1 with errno. */
int rsm_packet_connect(const char *path);

/** Fill a unix address; -1 with ENAMETOOLONG if the path does not fit. */
struct sockaddr_un;
int rsm_unix_address(struct sockaddr_un *address, const char *path);
