/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What recorder and player share: the daemon that is spoken to, and the two kinds of connections.
 *
 * A recording is a text, made to be read. `#` begins a comment. Each step is a line:
 *
 *     protocol N          which version of the control protocol the recording is in
 *     open L              connect as L: a letter; `p` is another host's daemon, the others are
 * clients > L NAME            a message to the daemon; its bytes follow < L NAME            one
 * from it, in answer; its bytes follow fds KIND...         the descriptors beside the message above
 *     end L               the daemon closes L now
 *     moved L SLOT        the generation at SLOT of L's table is not what it was when the slot was
 * told close L             the client goes
 *
 * Bytes are indented lines `HEX NAME [id|any]`: a field of the message, its name, and whether it is
 * an id (mapped) or may be anything.
 */
#ifndef TESTS_WIRE_WIRE_H
#define TESTS_WIRE_WIRE_H

#include "system.h"
#include "base/packet.h"
#include "tests/unit/rsmd/peer.h"

enum {
    WIRE_OWN = 2,    /* node of the daemon; node 1 calls it */
    WIRE_PEER = 'p', /* the connection that is another host's */
    WIRE_BYTES_MAX = RSM_PROTO_MESSAGE_MAX + 64,
};

/** Start the daemon of node 2: controllers sci0 (shm) and far0 (peek, which reaches other hosts),
 * no authentication. End it by daemon_stop(). */
void wire_daemon_start(struct daemon *daemon);

/** Connect as a client or, if @p letter is WIRE_PEER, as node 1. */
int wire_open(const struct daemon *daemon, char letter);

/** A packet, or a frame without its length. */
void wire_send(int socket, char letter, const uint8_t *bytes, size_t length,
               const struct rsm_packet_fds *fds);
/** The next one; 0: the daemon has closed the connection. PINGs of an established link that no
 *  recording waits for are answered and left out: @p want_ping otherwise. */
size_t wire_receive(int socket, char letter, uint8_t bytes[WIRE_BYTES_MAX],
                    struct rsm_packet_fds *fds, bool want_ping);

/** Keep descriptors that were received, as a client does, until wire_drop_fds(): a pipe whose read
 * end is gone is not kicked. */
void wire_keep_fds(struct rsm_packet_fds *fds);
void wire_drop_fds(void);

/** What a descriptor is, in words of a recording; *text has 64 bytes. */
void wire_describe_fd(int fd, char *text);
/** Make what such words say, to be sent. */
int wire_make_fd(const char *text);

#endif
