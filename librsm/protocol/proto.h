/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The control protocol between a process and a node's rsmd.
 *
 * Messages travel on a unix SOCK_SEQPACKET socket, one message a packet, descriptors beside it
 * (SCM_RIGHTS). A client sends a request and gets exactly one reply with the same sequence number;
 * rsmd never speaks unasked. Only replies carry descriptors: where the kernel can refuse those that
 * a client sends (SO_PASSRIGHTS) the client gets EPERM, elsewhere rsmd ends the connection.
 * Requests begin in order. Their replies come in order, too, but for those that take long, which
 * come when they are ready: to an IMPORT_CONNECT that another host has to answer, to EXTENT_ALLOC
 * and EXPORT_CREATE while memory is registered, to EXTENT_FREE while it is freed. Everything is
 * little-endian (codec.h). doc/architecture.md tells the story; this file and those that
 * it includes are the reference: proto_event.h has events and records, proto_interrupt.h interrupts,
 * proto_inspect.h what rsmstat asks.
 *
 * A process talks to the rsmd of its own node (role: client of the node) for everything it exports
 * and to learn of others, and directly to the rsmd of another node *on the same host* for what it
 * imports from there. `IMPORT_CONNECT` to a node of another host goes to the own node's rsmd.
 */
#ifndef RSMCORE_PROTO_H
#define RSMCORE_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/map_settings.h"
#include "protocol/proto_acl.h"
#include "protocol/proto_event.h"
#include "protocol/proto_inspect.h"
#include "protocol/proto_interrupt.h"
#include "protocol/proto_limits.h"
#include "rsm/transport.h"

#define RSM_PROTO_MAGIC 0x444d5352u /* "RSMD" as bytes */
#ifndef RSM_PROTO_VERSION           /* tests build another one, too */
#define RSM_PROTO_VERSION 1u
#endif

/** Requests; the reply to one has the same type with RSM_MSG_REPLY set. */
enum rsm_msg_type {
    RSM_MSG_HELLO = 1,
    RSM_MSG_CONTROLLER = 2,
    RSM_MSG_TOPOLOGY = 3,
    RSM_MSG_LOCATE = 4,
    RSM_MSG_EXTENT_ALLOC = 5,
    RSM_MSG_EXTENT_FREE = 6,
    RSM_MSG_EXPORT_CREATE = 7,
    RSM_MSG_EXPORT_PUBLISH = 8,
    RSM_MSG_EXPORT_REPUBLISH = 9,
    RSM_MSG_EXPORT_UNPUBLISH = 10,
    RSM_MSG_EXPORT_DESTROY = 11,
    RSM_MSG_IMPORT_CONNECT = 12,
    RSM_MSG_IMPORT_DISCONNECT = 13,
    RSM_MSG_EVENT_OPEN = 14,
    RSM_MSG_EVENT_RECEIVERS = 15,
    RSM_MSG_EVENT_ARM = 16,
    RSM_MSG_EVENT_DOORBELL = 17,
    RSM_MSG_INSPECT = 18,
    RSM_MSG_LINKS = 19,
    RSM_MSG_SHARES = 20,
    RSM_MSG_RECORDS = 21,
    RSM_MSG_EXTENT_OPEN = 22,
    RSM_MSG_INTERRUPT_CREATE = 23,
    RSM_MSG_INTERRUPT_REMOVE = 24,
    RSM_MSG_INTERRUPT_CONNECT = 25,
    RSM_MSG_INTERRUPT_TRIGGER = 26,
    RSM_MSG_INTERRUPT_TAKE = 27,
    RSM_MSG_IMPORT_TRAP = 28,
    RSM_MSG_EXPORT_STATE = 29,
    RSM_MSG_NAMED = 30,
    RSM_MSG_FAILED = 31,
    RSM_MSG_INTERRUPTS = 32,
};
#define RSM_MSG_LAST  RSM_MSG_INTERRUPTS /* of the requests */
#define RSM_MSG_REPLY 0x8000u

/** Name spaces of segment ids, one for each API. Segments of different spaces may have the same id
 *  and do not see each other. A request that names no space of these is refused with
 *  RSM_ST_INVALID. rsmd/node/segment_ids.c has the rules of each space. */
enum rsm_id_space {
    RSM_ID_SPACE_RSMAPI = 0, /* 1 to 0x7fffffff may be asked for. Ids from 0x80000000 upward are
                                assigned, each of them once in the daemon's life */
    RSM_ID_SPACE_SISCI = 1,  /* any id may be asked for, 0 included; assigned is the first free id
                                from the one in the request upward */
    RSM_ID_SPACES = 2,
};

/** First request on every connection. Reply carries descriptor 0: the generation table, read-only
 *  (generation_table.h). Until HELLO succeeded every other request is refused with RSM_ST_PROTOCOL.
 * A connection without HELLO is dropped after RSM_PROTO_GREETING_MS, and earlier where there are
 * too many of them. RSM_ST_NO_RESOURCES: the user has as many connections as he may have. */
struct rsm_hello_request {
    uint32_t node; /* the node that the calling process belongs to, 1..RSM_NODE_ID_MAX: the daemon's
                      own, or one whose daemon listens on this host. Another one is refused:
                      RSM_ST_DENIED */
};
struct rsm_hello_reply {
    uint32_t node;            /* the node of this rsmd */
    uint32_t embedded;        /* 1: started by a library, ends when unused */
    uint32_t peer_timeout_ms; /* within which a dead peer is noticed */
};

/** Look a controller up: by its name, byte for byte as configured; or, if that is "", the one of
 *  number `unit`, from 0, among those on a transport in the order of the configuration. Loopback
 * has a name and no number. With BY_ADAPTER `unit` is the number of an adapter instead, as SISCI has
 *  them (rsm.conf(5)). RSM_ST_NO_CONTROLLER when there is none. Where rsmd is
 *  configured to lend /dev/userfaultfd the reply carries descriptor 0: the device, by which the
 *  client makes itself a userfaultfd that serves faults of the kernel, too. */
#define RSM_CONTROLLER_BY_ADAPTER 1u
struct rsm_controller_request {
    char name[RSM_PROTO_NAME_MAX];
    char transport[RSM_TRANSPORT_NAME_MAX]; /* "": any */
    uint32_t unit;
    uint32_t flags; /* RSM_CONTROLLER_* */
};
struct rsm_controller_reply {
    char name[RSM_PROTO_NAME_MAX]; /* as configured */
    char transport[RSM_TRANSPORT_NAME_MAX];
    char device[RSM_PROTO_NAME_MAX];
    char options[RSM_PROTO_NAME_MAX];
    uint32_t loopback;           /* 1: reaches the own node alone and is not part of the topology */
    struct mapping_settings map; /* of software mappings, as configured */
    struct rsm_port_attr attr;
};

/** Page through the controllers (loopback excluded) and, for each, its far ends. */
struct rsm_topology_request {
    uint32_t controller; /* index, 0 .. controllers - 1 */
    uint32_t first_peer; /* index of the first far end wanted */
};
struct rsm_topology_remote {
    uint32_t node;
    char name[RSM_PROTO_NAME_MAX];
    uint64_t hardware_address;
    uint32_t state; /* 1 down, 2 up, 3 active, 4 going down */
};
struct rsm_topology_reply {
    uint32_t generation;  /* moves when the answer changes; pages of one answer must agree */
    uint32_t controllers; /* how many there are; the rest is empty if the index is beyond */
    char name[RSM_PROTO_NAME_MAX];
    uint64_t hardware_address;
    uint32_t total_peers;
    uint32_t peer_count; /* in this reply */
    struct rsm_topology_remote peers[RSM_PROTO_REMOTES_MAX];
};

/** How to reach a node on a controller. RSM_ST_NO_ROUTE: not known; RSM_ST_UNREACHABLE: known. */
struct rsm_locate_request {
    char controller[RSM_PROTO_NAME_MAX];
    uint32_t node;
};
enum rsm_locate_kind {
    RSM_LOCATE_SELF = 0,      /* this rsmd is that node */
    RSM_LOCATE_SAME_HOST = 1, /* talk to the socket in `path` */
    RSM_LOCATE_REMOTE = 2,    /* send IMPORT_CONNECT to this rsmd */
};
struct rsm_locate_reply {
    uint32_t kind; /* enum rsm_locate_kind */
    char path[RSM_PROTO_PATH_MAX];
};

/** What the descriptor of an extent is: as struct rsm_extent of rsm/transport.h has it. fstat(2) of
 *  the descriptor of a device does not tell. */
struct rsm_extent_about {
    uint32_t kind;   /* enum rsm_extent_kind */
    uint64_t offset; /* bytes: where in what the descriptor maps it begins */
    uint64_t length; /* bytes */
};

/** Take an extent for memory to be exported on a controller. Reply: descriptor 0, read-write. The
 *  memory is sparse; the client populates it. RSM_ST_NO_MEMORY beyond max-exported-memory or the
 *  user's share of it, RSM_ST_NO_RESOURCES beyond his share of the descriptors. */
struct rsm_extent_alloc_request {
    char controller[RSM_PROTO_NAME_MAX];
    uint64_t length; /* bytes, multiple of the page size, not 0 */
};
struct rsm_extent_alloc_reply {
    uint32_t extent; /* id, never 0, unique within the client */
    struct rsm_extent_about about;
};
/** Give one back. While a published segment or a connection uses it: RSM_ST_BUSY, or with
 * WHEN_UNUSED the client can name it no more, and its memory is freed when the last of them has
 * gone. */
#define RSM_EXTENT_FREE_WHEN_UNUSED 1u
struct rsm_extent_free_request {
    uint32_t extent;
    uint32_t flags;
};

/** Another descriptor of an own extent. Reply: descriptor 0, as that of EXTENT_ALLOC. A client need
 *  not keep that one: the extent lives until EXTENT_FREE. */
struct rsm_extent_open_request {
    uint32_t extent;
};

/** Register a segment, unpublished. The caller's effective uid and gid are recorded now. Together
 *  with an extent for all of it, if wanted: then the reply carries that one's descriptor, and what
 *  EXTENT_ALLOC refuses is refused.
 *
 *  A segment may claim its id now: RSM_ST_ID_IN_USE, RSM_ST_INVALID. It has the id until it is
 *  destroyed or its exporter ends. To publish it is then to tell rsmd where its memory is, under
 *  the claimed id, and it is connectable while it is in state OPEN on some adapter
 *  (EXPORT_STATE). */
enum rsm_claim {
    RSM_CLAIM_NONE = 0,   /* PUBLISH names the id */
    RSM_CLAIM_ID = 1,     /* `segment_id` */
    RSM_CLAIM_ASSIGN = 2, /* rsmd chooses; `segment_id` is where to begin, as the space has it */
};
struct rsm_export_create_request {
    char controller[RSM_PROTO_NAME_MAX];
    uint64_t length;      /* bytes, multiple of the page size, not 0 */
    uint32_t mode;        /* 0777 & ~umask at this moment; rights where no access list is given */
    uint32_t want_extent; /* 1: an extent of the same length, too; 0: none */
    uint64_t size;        /* bytes that importers are told; 0: `length`. Else it is `length` when
                             rounded up to whole pages */
    uint32_t claim;       /* enum rsm_claim */
    uint32_t space;       /* enum rsm_id_space, of a claim */
    uint32_t segment_id;  /* of a claim */
};
struct rsm_export_create_reply {
    uint32_t export_id;  /* id, never 0, unique within the client */
    uint32_t epoch_slot; /* slot of the generation table that moves whenever an importer of this
                            segment connects or disconnects */
    uint32_t extent;     /* id, 0 if none was wanted */
    struct rsm_extent_about about; /* of the extent */
    uint32_t segment_id;           /* that was claimed, else 0 */
};

/** The state of a segment that has claimed its id, on one adapter. It is OPEN on none to begin
 *  with, and UNPUBLISH takes it back to READY where it is OPEN. */
enum rsm_segment_state {
    RSM_SEGMENT_NEW = 0,
    RSM_SEGMENT_READY = 1,
    RSM_SEGMENT_OPEN = 2, /* connectable. RSM_ST_NOT_PUBLISHED: rsmd knows no memory of it */
};
/** Take a segment from one state to another, if it is in the one. Its exporter may, and whoever is
 *  attached to it; so the state is the same for all of them, and of two who ask at once one comes
 *  first. RSM_ST_INVALID: the id is not claimed, the import is not attached, or no such state,
 *  adapter or flag. RSM_ST_ABORTED: the exporter has gone. */
#define RSM_STATE_NOTIFY                                                                           \
    1u                     /* importers get the record UNAVAILABLE, if it was OPEN and is no more */
#define RSM_STATE_SHARE 2u /* by the exporter: from now on others may attach to it */
struct rsm_export_state_request {
    uint32_t end;  /* RSM_EVENT_EXPORT, or RSM_EVENT_IMPORT of one who is attached */
    uint32_t id;   /* of that */
    uint32_t unit; /* the adapter's number */
    uint32_t from; /* enum rsm_segment_state */
    uint32_t to;   /* the same as `from`: only tell */
    uint32_t flags;
};
struct rsm_export_state_reply {
    uint32_t was; /* the state before. Nothing has changed unless it is `from` */
};

struct rsm_segment_piece {
    uint32_t extent;
    uint64_t offset;
    uint64_t length;
};
/** Make it connectable. Lengths of the pieces add up to the segment's length. RSM_ST_INVALID: an
 *  id that nobody may ask for in this space, or another one than was claimed, or an unknown
 *  flag. */
#define RSM_PUBLISH_ASSIGN_ID 1u /* rsmd chooses the id; without it `segment_id` is what counts */
struct rsm_export_publish_request {
    uint32_t export_id;
    uint32_t segment_id; /* with ASSIGN_ID: where to begin to look, as the space has it */
    uint32_t space;      /* enum rsm_id_space */
    uint32_t flags;      /* RSM_PUBLISH_* */
    uint32_t acl_count;  /* 0: all nodes, with the creation mode */
    struct rsm_acl_entry acl[RSM_PROTO_ACL_MAX];
    uint32_t piece_count; /* at least 1 */
    struct rsm_segment_piece pieces[RSM_PROTO_PIECES_MAX];
};
struct rsm_export_publish_reply {
    uint32_t segment_id;
};
struct rsm_export_republish_request {
    uint32_t export_id;
    uint32_t acl_count;
    struct rsm_acl_entry acl[RSM_PROTO_ACL_MAX];
};
/** End publication: the id is free unless it was claimed, no more connects. Unless KEEP is set all connections are
 *  aborted before the reply: their generations have moved. Of a connection from another host the
 *  offer has been revoked, so that no access arrives any more; the generation that its importer
 *  looks at moves when the message comes there. RSM_ST_BUSY: somebody is attached, and KEEP is not
 *  set. */
#define RSM_UNPUBLISH_KEEP_CONNECTIONS 1u
#define RSM_UNPUBLISH_NOTIFY           2u /* importers get the record UNAVAILABLE first */
struct rsm_export_unpublish_request {
    uint32_t export_id;
    uint32_t flags;
};
/** Reply to unpublish and destroy: `offered` is 1 when any process ever received this segment's
 *  extents, so that the exporter has to leave them to be safe from it. */
struct rsm_export_end_reply {
    uint32_t offered;
    uint32_t connections; /* that go on: how many were kept */
};
/** Unpublish if need be and forget the segment. Its connections are aborted, as by UNPUBLISH. With
 *  UNUSED a segment that has connections is left as it is: RSM_ST_BUSY. With DEFER they go on among
 *  themselves, get the record UNAVAILABLE, and memory and segment are charged to the exporter until
 * the last of them or the exporter has gone. RSM_ST_INVALID: both. */
#define RSM_DESTROY_UNUSED 1u
#define RSM_DESTROY_DEFER  2u
struct rsm_export_destroy_request {
    uint32_t export_id;
    uint32_t flags;
};

struct rsm_import_connect_request {
    char controller[RSM_PROTO_NAME_MAX];
    uint32_t node; /* the exporter's */
    uint32_t segment_id;
    uint32_t rights; /* RSM_RIGHT_* wanted */
    uint32_t space;  /* enum rsm_id_space, of segment_id */
    uint32_t flags;
};
/** Attach to a segment of the own node that has claimed its id and is shared, whatever its state is:
 *  share its memory as its exporter does. That is no connection in what the exporter is told or
 *  counts. Whoever is attached may change the state, and as RSM_EVENT_IMPORT_RECORDS gets the
 *  records that the exporter gets, and LOST when the exporter's process has ended. The exporter's
 *  DESTROY with DEFER ends the segment when the last of them has gone. RSM_ST_DENIED: not shared,
 *  or not by this user, or not of this node; RSM_ST_NOT_PUBLISHED: rsmd knows no memory of it. */
#define RSM_CONNECT_ATTACH 1u
/** Descriptors of the reply are those of the offer. */
struct rsm_import_connect_reply {
    uint32_t import;     /* id, never 0, unique within the client */
    uint32_t slot;       /* of the generation table; the connection is aborted when it moves */
    uint32_t generation; /* its value now */
    uint64_t length;     /* bytes of the segment */
    uint64_t size;       /* bytes that the exporter asked for: up to a page less */
    uint32_t rights;     /* granted, those wanted */
    char transport[RSM_TRANSPORT_NAME_MAX];
    uint32_t blob_len;
    uint8_t blob[RSM_OFFER_MAX_BLOB];
};
struct rsm_import_disconnect_request {
    uint32_t import;
};
/** How the mapping engine traps accesses to the mappings of an own connection, for rsmstat. rsmd
 *  keeps it until the connection ends, shows it as what this client says, and relies on nothing of
 *  it. RSM_ST_INVALID: values that do not exist. A client need not wait for the reply. */
struct rsm_import_trap_request {
    uint32_t import;
    struct mapping_choice choice;
};

/** The nodes of a name, which is a host's or, as SISCI has them, an adapter's (rsm.conf(5)). What is
 *  beyond RSM_PROTO_NAMED_MAX is left out. RSM_ST_NOT_FOUND: there is none. */
struct rsm_named_request {
    char name[RSM_PROTO_NAME_MAX];
};
struct rsm_named_reply {
    uint32_t count; /* not 0 */
    struct rsm_named_node {
        uint32_t node;
        uint32_t adapter; /* which of the node's the name is */
    } nodes[RSM_PROTO_NAMED_MAX];
};

/** One message, decoded. `type` says which member of the union counts; replies with a status other
 *  than RSM_ST_OK have no body. */
struct rsm_msg {
    uint32_t type; /* enum rsm_msg_type, with RSM_MSG_REPLY for replies */
    uint32_t sequence;
    uint32_t status; /* enum rsm_status; 0 in requests */
    union {
        struct rsm_hello_request hello;
        struct rsm_hello_reply hello_reply;
        struct rsm_controller_request controller;
        struct rsm_controller_reply controller_reply;
        struct rsm_topology_request topology;
        struct rsm_topology_reply topology_reply;
        struct rsm_locate_request locate;
        struct rsm_locate_reply locate_reply;
        struct rsm_extent_alloc_request extent_alloc;
        struct rsm_extent_alloc_reply extent_alloc_reply;
        struct rsm_extent_free_request extent_free;
        struct rsm_extent_open_request extent_open;
        struct rsm_export_create_request export_create;
        struct rsm_export_create_reply export_create_reply;
        struct rsm_export_publish_request export_publish;
        struct rsm_export_publish_reply export_publish_reply;
        struct rsm_export_republish_request export_republish;
        struct rsm_export_unpublish_request export_unpublish;
        struct rsm_export_end_reply export_end_reply;
        struct rsm_export_destroy_request export_destroy;
        struct rsm_import_connect_request import_connect;
        struct rsm_import_connect_reply import_connect_reply;
        struct rsm_import_disconnect_request import_disconnect;
        struct rsm_import_trap_request import_trap;
        struct rsm_event_open_request event_open;
        struct rsm_event_receivers_request event_peers;
        struct rsm_event_receivers_reply event_peers_reply;
        struct rsm_event_arm_request event_arm;
        struct rsm_event_doorbell_request event_doorbell;
        struct rsm_inspect_request inspect;
        struct rsm_inspect_reply inspect_reply;
        struct rsm_links_request links;
        struct rsm_links_reply links_reply;
        struct rsm_failed_request failed;
        struct rsm_failed_reply failed_reply;
        struct rsm_shares_request shares;
        struct rsm_interrupts_request interrupts;
        struct rsm_interrupts_reply interrupts_reply;
        struct rsm_shares_reply shares_reply;
        struct rsm_records_request records;
        struct rsm_records_reply records_reply;
        struct rsm_interrupt_create_request interrupt_create;
        struct rsm_interrupt_create_reply interrupt_create_reply;
        struct rsm_interrupt_remove_request interrupt_remove;
        struct rsm_interrupt_connect_request interrupt_connect;
        struct rsm_interrupt_connect_reply interrupt_connect_reply;
        struct rsm_interrupt_trigger_request interrupt_trigger;
        struct rsm_interrupt_take_request interrupt_take;
        struct rsm_interrupt_take_reply interrupt_take_reply;
        struct rsm_export_state_request export_state;
        struct rsm_export_state_reply export_state_reply;
        struct rsm_named_request named;
        struct rsm_named_reply named_reply;
    } u;
};

/**
 * Begin a message of a type, with RSM_MSG_REPLY for a reply: sequence, status and what counts of
 * the union become 0. The rest is not written: a message is longer than most requests need by
 * thousands of bytes.
 */
void rsm_msg_begin(struct rsm_msg *msg, uint32_t type);

/** Encode into @p buffer. Returns the length, or 0 if the message breaks its own bounds. */
size_t rsm_msg_encode(const struct rsm_msg *msg, void *buffer, size_t capacity);

/** Type and sequence of a packet of which at least the first @p length bytes are there, whatever is
 *  wrong with the rest. False: it is not of this protocol. */
bool rsm_msg_peek(const void *buffer, size_t length, uint32_t *type, uint32_t *sequence);

/** The version that a packet of this protocol is of, 0 if it is too short to say. The header is the
 *  same in all versions, so that two that do not fit can tell each other so. */
uint32_t rsm_msg_version(const void *buffer, size_t length);

/**
 * Decode a packet. RSM_ST_OK, RSM_ST_VERSION (right magic, other version) or RSM_ST_PROTOCOL
 * (anything else: short, long, unknown type, count out of bounds). Only msg is written, as
 * rsm_msg_begin() and the packet have it.
 */
enum rsm_status rsm_msg_decode(struct rsm_msg *msg, const void *buffer, size_t length);

#endif
