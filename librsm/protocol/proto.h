/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The control protocol between a process and a node's rsmd.
 *
 *  Messages travel on a unix SOCK_SEQPACKET socket, one message a packet, descriptors beside it
 *  (SCM_RIGHTS). A client sends a request and gets exactly one reply with the same sequence number;
 *  rsmd sends nothing else. Only replies carry descriptors: where the kernel can refuse those that
 *  a client sends (SO_PASSRIGHTS) the client gets EPERM, elsewhere rsmd ends the connection.
 *  Requests begin in order. Replies come in order, too, except those that take long, which come
 *  when they are ready: to an IMPORT_CONNECT that another host has to answer, to EXTENT_ALLOC and
 *  EXPORT_CREATE while memory is registered, to EXTENT_FREE while it is freed. Everything is
 *  little-endian (codec.h). doc/architecture.md gives an overview. The reference is messages.def,
 *  which lists the messages and the steps to add one, and bodies.def, which has their fields.
 *
 *  A process uses the rsmd of its local node (role: client of the node) for all that it exports and
 *  to find other nodes, and directly the rsmd of another node *on the same host* for what it
 *  imports from that node. `IMPORT_CONNECT` to a node of another host goes to the local node's
 *  rsmd. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/map_settings.h"
#include "protocol/proto_constants.h"
#include "protocol/proto_limits.h"
#include "rsm/transport.h"

#define RSM_PROTO_MAGIC 0x444d5352u /* "RSMD" as bytes */
#ifndef RSM_PROTO_VERSION           /* tests build another one, too */
#define RSM_PROTO_VERSION 1u
#endif

/** Requests; the reply to one has the same type with RSM_MSG_REPLY set. */
enum rsm_msg_type {
#define RSM_MESSAGE(NAME, number, name, reply, senders) RSM_MSG_##NAME = (number),
#include "protocol/messages.def"
};
#define RSM_MSG_REPLY 0x8000u

enum {
    /* The newest message of daemons that do not say which theirs is. */
    RSM_MSG_NEWEST_BEFORE = 31,
    /* The greatest number of a request: that of the longest of these. */
    RSM_MSG_LAST = sizeof(union {
#define RSM_MESSAGE(NAME, number, name, reply, senders) char name[number];
#include "protocol/messages.def"
    }),
};

#include "protocol/bodies_declare.h"
#include "protocol/bodies.def"
#include "protocol/bodies_end.h"

/** One message, decoded. `type` says which member of the union counts: `name` of a request,
 *  `name_reply` of its reply. Replies with a status other than RSM_ST_OK have no body. */
struct rsm_msg {
    uint32_t type; /* enum rsm_msg_type, with RSM_MSG_REPLY for replies */
    uint32_t sequence;
    uint32_t status; /* enum rsm_status; 0 in requests */
    union {
#define RSM_MESSAGE(NAME, number, name, reply, senders)                                            \
    struct rsm_##name##_request name;                                                              \
    struct rsm_##reply##_reply name##_reply;
#include "protocol/messages.def"
    } u;
};

/** Begin a message of a type, with RSM_MSG_REPLY for a reply: sequence, status and what counts of
 *  the union become 0. The rest is not written: a message is longer than most requests need by
 *  thousands of bytes. */
void rsm_msg_begin(struct rsm_msg *msg, uint32_t type);

/** Encode into @p buffer. Returns the length, or 0 if the message breaks its own bounds. */
size_t rsm_msg_encode(const struct rsm_msg *msg, void *buffer, size_t capacity);

/** Type and sequence of a packet of which at least the first @p length bytes are there, whatever is
 *  wrong with the rest. False: it is not of this protocol. */
bool rsm_msg_peek(const void *buffer, size_t length, uint32_t *type, uint32_t *sequence);

/** The protocol version of a packet; 0: it is too short. The header is the same in all versions, so
 *  that two ends that do not fit can report that. */
uint32_t rsm_msg_version(const void *buffer, size_t length);

/** Decode a packet. RSM_ST_OK, RSM_ST_VERSION (right magic, other version) or RSM_ST_PROTOCOL
 *  (anything else: short, long, unknown type, count out of bounds). Only msg is written, as
 *  rsm_msg_begin() and the packet have it. */
enum rsm_status rsm_msg_decode(struct rsm_msg *msg, const void *buffer, size_t length);
