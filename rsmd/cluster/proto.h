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
 * HELLO and REFUSE are the same in all versions of the protocol, so that two ends can always tell
 * each other why they do not fit.
 *
 * Messages about segments name a connection by the id that the *exporter's* node gave it in its
 * CONNECT_REPLY. Whatever belongs to a link ends with it: the exporter's node revokes the offers,
 * the importer's node aborts the connections.
 */
#ifndef RSMD_CLUSTER_PROTO_H
#define RSMD_CLUSTER_PROTO_H

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

enum rsm_cluster_msg_type {
    /* the link itself */
    RSM_CLUSTER_HELLO = 1,  /* first, from the caller and then from the other end */
    RSM_CLUSTER_PROOF = 2,  /* second, in this order, too: the credential, bound to both nonces */
    RSM_CLUSTER_REFUSE = 3, /* instead or later, and then the link ends */
    RSM_CLUSTER_PING = 4,   /* answered by PONG with the same number */
    RSM_CLUSTER_PONG = 5,
    /* segments */
    RSM_CLUSTER_CONNECT = 16, /* to the exporter's node */
    RSM_CLUSTER_CONNECT_REPLY = 17,
    RSM_CLUSTER_DISCONNECT = 18,  /* to the exporter's node: the importer has gone */
    RSM_CLUSTER_ABORT = 19,       /* to the importer's node: the connection has been cut */
    RSM_CLUSTER_EVENT = 20,       /* to the end named in it */
    RSM_CLUSTER_UNAVAILABLE = 21, /* to the importer's node: the exporter asks importers to leave */
    RSM_CLUSTER_RELEASED = 22,    /* to the exporter's node, when the link has come up */
    /* interrupts */
    RSM_CLUSTER_INTERRUPT = 32, /* to the node that has it */
    RSM_CLUSTER_INTERRUPT_REPLY = 33,
};

#define RSM_CLUSTER_LAST RSM_CLUSTER_INTERRUPT_REPLY

struct rsm_cluster_hello {
    uint32_t magic;
    uint32_t version_min;
    uint32_t version_max;
    uint32_t from;        /* node id of the sender */
    uint32_t to;          /* node id that the sender takes the receiver for */
    uint64_t incarnation; /* random, new at each start: tells a restart and a second daemon with
                             the same node id */
    uint8_t nonce[RSM_CLUSTER_NONCE_BYTES];
};

struct rsm_cluster_proof {
    uint32_t length;
    uint8_t credential[RSM_CLUSTER_CREDENTIAL_MAX];
};

struct rsm_cluster_refuse {
    uint32_t status; /* enum rsm_status */
    char text[RSM_CLUSTER_TEXT_MAX];
};

struct rsm_cluster_ping {
    uint64_t number;
    uint64_t answered; /* of PING: number of the last PONG that its sender received; else 0 */
};

/** A process whose request one node forwards to another. The sender vouches for it. */
struct rsm_cluster_identity {
    uint32_t uid;
    uint32_t gid;
    uint32_t pid;
    uint32_t group_count;
    uint32_t groups[RSM_CLUSTER_GROUPS_MAX]; /* supplementary groups */
};

/** An import wanted. */
struct rsm_cluster_connect {
    uint32_t request; /* chosen by the sender, comes back in the reply */
    char controller[RSM_PROTO_NAME_MAX];
    uint32_t space; /* enum rsm_id_space of protocol/proto.h */
    uint32_t segment_id;
    uint32_t rights; /* RSM_RIGHT_* wanted */
    struct rsm_cluster_identity who;
};

struct rsm_cluster_connect_reply {
    uint32_t request;
    uint32_t status; /* enum rsm_status; what follows counts only if RSM_ST_OK */
    uint32_t import; /* id of the connection at the exporter's node, never 0 */
    uint32_t rights;
    uint64_t length; /* bytes of the segment */
    uint64_t size;   /* bytes that the exporter asked for: up to a page less */
    char transport[RSM_TRANSPORT_NAME_MAX];
    uint32_t blob_len;
    uint8_t blob[RSM_OFFER_MAX_BLOB];
};

/** DISCONNECT, ABORT and UNAVAILABLE. */
struct rsm_cluster_import {
    uint32_t import;
    uint32_t died; /* of DISCONNECT: RSM_CLUSTER_DIED and RSM_CLUSTER_HELD; else 0 */
};

enum {
    RSM_CLUSTER_DIED = 1, /* the importing process ended and left the connection behind */
    RSM_CLUSTER_HELD = 2, /* the importing process may still reach the memory: a second DISCONNECT
                             says when it cannot any more */
};

/** Of the connections that were made before the link came up, processes of the sender can reach the
 *  memory of those alone that it has named since by DISCONNECT with RSM_CLUSTER_HELD. */
struct rsm_cluster_released {
    uint64_t incarnation; /* of the sender's daemon: it speaks for no other's processes; not 0 */
};

/** Events posted to the other end of a connection. */
struct rsm_cluster_event {
    uint32_t import;
    uint32_t end;       /* enum rsm_event_end: the one that is posted to */
    uint32_t count;     /* to be added to its counter */
    uint32_t coalesced; /* 1: before these, one more unless some are pending already */
};

/** An interrupt to be found, or triggered. */
struct rsm_cluster_interrupt {
    uint32_t request; /* chosen by the sender, comes back in the reply */
    uint32_t kind;    /* enum rsm_interrupt_kind */
    uint32_t number;
    uint32_t interrupt; /* id; 0: find it */
    struct rsm_cluster_identity who;
    uint32_t length; /* bytes */
    uint8_t data[RSM_INTERRUPT_DATA_MAX];
};
struct rsm_cluster_interrupt_reply {
    uint32_t request;
    uint32_t status;    /* enum rsm_status */
    uint32_t interrupt; /* id, if that is RSM_ST_OK */
};

struct rsm_cluster_msg {
    uint32_t type; /* enum rsm_cluster_msg_type */
    union {
        struct rsm_cluster_hello hello;
        struct rsm_cluster_proof proof;
        struct rsm_cluster_refuse refuse;
        struct rsm_cluster_ping ping; /* and PONG */
        struct rsm_cluster_connect connect;
        struct rsm_cluster_connect_reply connect_reply;
        struct rsm_cluster_import import; /* DISCONNECT, ABORT, UNAVAILABLE */
        struct rsm_cluster_released released;
        struct rsm_cluster_event event;
        struct rsm_cluster_interrupt interrupt;
        struct rsm_cluster_interrupt_reply interrupt_reply;
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

#endif
