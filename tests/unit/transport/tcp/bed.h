/* SPDX-License-Identifier: BSD-3-Clause */
/** @file rsm-tcpd's loop in the test, which takes its turns by hand. The test is rsmd and the importers. */
#ifndef TESTS_TCP_BED_H
#define TESTS_TCP_BED_H

#include "transport/tcp/server/server.h"

enum { BED_BYTES = 16384, BED_GUARD = 0x5a, BED_STRANGERS = 20 };

struct bed {
    struct tcp_server server;
    int control; /* rsmd's end */
    struct tcp_address *address;
    int memory;       /* of pages: a guard, the segment's, a guard */
    uint8_t *mapped;  /* all of it */
    uint8_t *segment; /* BED_BYTES of it */
    size_t page;
};

/** cmocka's setup and teardown; the state is a struct bed. */
int bed_begin(void **state);
int bed_end(void **state);

/** Let the server do all that there is to do. */
void bed_turn(struct bed *bed);
/** Make a grant of the segment, whose tokens consist of this number. */
void bed_grant(struct bed *bed, uint64_t id, uint32_t rights);
/** A message to the server. */
void bed_tell(struct bed *bed, struct tcp_control message);
/** The next message of the server; type 0: there is none. */
struct tcp_control bed_told(struct bed *bed);

/** A new TCP connection to the server. */
int bed_call(struct bed *bed);
/** The same from another address of this host: 127.0.0.`last`. */
int bed_call_from(struct bed *bed, uint8_t last);
/** Connect and show the token. */
int bed_connect(struct bed *bed, uint64_t id, enum tcp_stream stream);
/** Send a frame and its payload, as they are. */
void bed_send(int socket, struct tcp_frame frame, const void *payload, size_t length);
void bed_hello(int socket, uint64_t id, enum tcp_stream stream, uint64_t token);
/** After a turn: the reply; type 0: there is none, and 255: the connection has ended. */
struct tcp_frame bed_reply(struct bed *bed, int socket, void *payload);
/** How many requests have failed, by a FLUSH. */
uint64_t bed_failed(struct bed *bed, int socket);
bool bed_guards_are_whole(const struct bed *bed);

#endif
