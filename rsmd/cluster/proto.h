/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The protocol between the rsmds of two hosts.
 *
 * A link is one TCP connection. Each message is a frame: length of what follows (u32), type (u32),
 * body; everything little-endian (base/codec.h), at most RSM_CLUSTER_FRAME_MAX bytes. Until both
 * ends have authenticated each other nothing but HELLO, PROOF and REFUSE is accepted. A frame that
 * breaks the bounds ends the link: the peer is trusted to be a node, not to be free of errors.
 *
 * HELLO and REFUSE are the same in all versions of the protocol, so that two ends can always report
 * why they do not fit.
 *
 * Messages about segments name a connection by the id that the *exporter's* node gave it in its
 * CONNECT_REPLY. Connections end with their link: the exporter's node revokes the offers, the
 * importer's node aborts the connections.
 *
 * messages.def lists the messages and says how to add one; bodies.def has their fields.
 */
#pragma once

#include "protocol/proto.h"

#define RSM_CLUSTER_MAGIC 0x524d5352u /* "RSMR" as bytes */

enum {
    RSM_CLUSTER_VERSION_MIN = 1, /* versions that this build speaks */
    RSM_CLUSTER_VERSION_MAX = 1,
    RSM_CLUSTER_FRAME_MAX = 16384, /* bytes behind the length word */
    RSM_CLUSTER_NONCE_BYTES = 16,
    RSM_CLUSTER_CREDENTIAL_MAX = 8192, /* bytes of an authentication credential */
    RSM_CLUSTER_GROUPS_MAX = 1024,     /* supplementary groups that travel with a user */
    RSM_CLUSTER_TEXT_MAX = 256,
};

enum {
    RSM_CLUSTER_DIED = 1, /* the importing process ended and left the connection behind */
    /* the importing process may still reach the memory: a second DISCONNECT reports the end of
     * that */
    RSM_CLUSTER_HELD = 2,
};

/** Of IDLE. */
enum rsm_cluster_idle_step {
    RSM_CLUSTER_IDLE_ASKED = 1,  /* may the link be closed? */
    RSM_CLUSTER_IDLE_CLOSED = 2, /* it is closed; the last message */
    RSM_CLUSTER_IDLE_USED = 3,   /* no */
};

enum rsm_cluster_msg_type {
#define LINK(NAME, number, name, body) RSM_CLUSTER_##NAME = (number),
#define NODE(NAME, number, name, body) RSM_CLUSTER_##NAME = (number),
#include "cluster/messages.def"
};

enum {
    /* The greatest number: that of the longest of these. */
    RSM_CLUSTER_LAST = sizeof(union {
#define LINK(NAME, number, name, body) char name[number];
#define NODE(NAME, number, name, body) char name[number];
#include "cluster/messages.def"
    }),
};

#include "protocol/bodies_declare.h"
#include "cluster/bodies.def"
#include "protocol/bodies_end.h"

struct rsm_cluster_msg {
    uint32_t type; /* enum rsm_cluster_msg_type */
    union {
#define LINK(NAME, number, name, body) struct rsm_cluster_##body name;
#define NODE(NAME, number, name, body) struct rsm_cluster_##body name;
#include "cluster/messages.def"
    } u;
};

/** Begin a message of a type: its body is all zeros, and the rest of the union is left alone, which
 *  is 16 KiB for a body of a few bytes. */
void rsm_cluster_msg_begin(struct rsm_cluster_msg *msg, enum rsm_cluster_msg_type type);

/** Encode type and body into @p buffer (no length word). Returns the length, or 0 if the message
 *  breaks its own bounds. */
size_t rsm_cluster_encode(const struct rsm_cluster_msg *msg, void *buffer, size_t capacity);

/** Decode type and body. RSM_ST_OK or RSM_ST_PROTOCOL. Only msg is written, of its union only the
 *  body of that type. */
enum rsm_status rsm_cluster_decode(struct rsm_cluster_msg *msg, const void *buffer, size_t length);
