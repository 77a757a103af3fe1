/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The control protocol (protocol/proto.h): what rsmstat asks. */
#ifndef RSMCORE_PROTO_INSPECT_H
#define RSMCORE_PROTO_INSPECT_H

#include <stdint.h>

#include "protocol/map_settings.h"
#include "protocol/proto_acl.h"
#include "protocol/proto_limits.h"
#include "rsm/transport.h"

/** What this rsmd knows of its segments, for rsmstat: a page of its exports, or of the connections
 *  to them. A user is told of those that he takes part in, root and rsmd's own user of all. rsmd
 *  looks at a bounded number of them for one request, so that a page can be empty although others
 *  follow. What is there from the first page to the last is in exactly one of them. RSM_ST_INVALID:
 *  no such `what`. */
#define RSM_INSPECT_HIDDEN UINT32_MAX /* in place of what only an export's owner may know */
enum rsm_inspect_what {
    RSM_INSPECT_EXPORTS = 1,
    RSM_INSPECT_IMPORTS = 2,
};
/** How far a segment is. Of SISCI, which has states for adapters, it is the farthest of them. */
enum rsm_inspect_state {
    RSM_INSPECT_NEW = 0,       /* without an id */
    RSM_INSPECT_CREATED = 1,   /* SISCI: it has an id */
    RSM_INSPECT_PREPARED = 2,  /* SISCI: it is prepared on an adapter */
    RSM_INSPECT_AVAILABLE = 3, /* whoever has the right may connect */
};
struct rsm_inspect_request {
    uint32_t what;  /* enum rsm_inspect_what */
    uint32_t after; /* `next` of the page before; 0: the first page */
};
struct rsm_inspect_item {
    uint32_t id;         /* of the export, or of the import */
    uint32_t exporter;   /* of an import: the export's node, 0 for an export */
    uint32_t export_id;  /* of an import: id of the export it is connected to, 0 when aborted; if
                            that is on another host, what its node calls the connection */
    uint32_t published;  /* 1: the segment has an id and can be connected to, or is; else 0 */
    uint32_t state;      /* of an export: enum rsm_inspect_state; from CREATED on it has an id */
    uint32_t space;      /* enum rsm_id_space, if it has an id */
    uint32_t segment_id; /* if it has one, else 0 */
    uint32_t node;       /* of the process at this end */
    uint32_t pid;
    uint32_t uid;
    uint32_t gid;
    uint32_t permission; /* of an export the creation mode or HIDDEN, of an import RSM_RIGHT_* */
    uint32_t acl_count;  /* of an export: entries of its access list, or HIDDEN */
    uint32_t acl_shown;  /* of these, in `acl`: the first ones. 0 if HIDDEN, and of an import */
    struct rsm_acl_entry acl[RSM_PROTO_ACL_SHOWN_MAX];
    uint32_t connections;         /* of an export: live ones, or HIDDEN */
    uint32_t pending;             /* events posted to this end and not consumed */
    uint64_t length;              /* bytes of the segment, 0 when aborted */
    uint64_t pinned;              /* of an export: bytes of it that its transport keeps pinned */
    struct mapping_choice choice; /* of an import: as its client has reported it. Zero: there is no
                                     mapping by the engine, or the client is on another host */
    char controller[RSM_PROTO_NAME_MAX];
};
/** The latest request for a segment that rsmd has refused. A user is told of it if it was his own,
 *  root and rsmd's own user in any case. */
struct rsm_refusal {
    uint64_t ago_ms; /* at least 1; 0: there was none, and the rest is 0 */
    uint32_t type;   /* RSM_MSG_EXPORT_CREATE, RSM_MSG_EXPORT_PUBLISH or RSM_MSG_IMPORT_CONNECT */
    uint32_t status; /* enum rsm_status */
    uint32_t pid;
    uint32_t uid;
};
struct rsm_inspect_reply {
    uint32_t next;           /* for the page that follows, ascending; 0: this is the last */
    uint64_t exported_bytes; /* in extents, of the whole node */
    uint64_t exported_limit; /* bytes; 0: none */
    uint32_t segments;       /* exports and imports of the whole node */
    uint32_t segments_limit;
    uint32_t clients;
    uint64_t connects; /* connections made since rsmd began, to its segments or by its clients */
    uint64_t events;   /* since then, through rsmd: those from and to other hosts */
    uint64_t
        longest_step_us; /* since then: processor time between two looks of rsmd for requests */
    struct rsm_refusal refusal;
    uint32_t count; /* in this reply */
    struct rsm_inspect_item items[RSM_PROTO_ITEMS_MAX];
};

/** The named interrupts of this rsmd, for rsmstat: a page, as of INSPECT. A user is told of his own,
 *  root and rsmd's own user of all. */
struct rsm_interrupts_request {
    uint32_t after; /* `next` of the page before; 0: the first page */
};
struct rsm_interrupts_item {
    uint32_t kind; /* enum rsm_interrupt_kind */
    uint32_t number;
    uint32_t pid;
    uint32_t uid;
    uint32_t gid;
    uint32_t mode;    /* owner, group, other digits */
    uint32_t shared;  /* 1: interrupts of the same user may have the number, too */
    uint32_t pending; /* triggers that nobody has taken yet */
    uint32_t waiting; /* threads asleep for one, those that call back included; the owner's word */
};
struct rsm_interrupts_reply {
    uint32_t next;  /* for the page that follows, ascending; 0: this is the last */
    uint32_t count; /* in this reply */
    struct rsm_interrupts_item items[RSM_PROTO_INTERRUPTS_MAX];
};

/** The links of this rsmd to those of other hosts, for rsmstat: a page of the nodes that have an
 *  address in the configuration, this one included, in ascending order. */
enum rsm_link_state {
    RSM_LINK_DOWN = 1,
    RSM_LINK_STARTING = 2, /* connected, not yet authenticated */
    RSM_LINK_UP = 3,
    RSM_LINK_NEIGHBOUR = 4, /* on this host, in the same runtime directory: needs no link */
    RSM_LINK_SELF = 5,      /* this node; the address is where it listens if anybody calls it */
};
enum rsm_link_auth {
    RSM_LINK_AUTH_NONE = 1,
    RSM_LINK_AUTH_MUNGE = 2,
};
struct rsm_links_request {
    uint32_t first; /* node id from which on to tell */
};
struct rsm_links_item {
    uint32_t node;
    uint32_t state;   /* enum rsm_link_state */
    uint32_t version; /* of the protocol between the two; 0 unless it is up */
    uint32_t port;
    uint64_t up_ms;          /* for so long it has been up, at least 1; 0 unless it is up */
    uint64_t failure_ms;     /* so long ago was the last failure, at least 1; 0: there was none */
    uint64_t sent_bytes;     /* by the link, since rsmd began */
    uint64_t received_bytes; /* likewise */
    char address[RSM_PROTO_NAME_MAX]; /* as configured */
    char text[RSM_PROTO_NAME_MAX];    /* of the last failure, "" if there was none */
};
struct rsm_links_reply {
    uint32_t auth;  /* enum rsm_link_auth */
    uint32_t more;  /* 1: there are further ones behind the last of these */
    uint32_t count; /* in this reply */
    struct rsm_links_item items[RSM_PROTO_LINKS_MAX];
};

/** The controllers of the configuration that could not be opened, which CONTROLLER and TOPOLOGY do not know; and
 *  open ones whose transport knows why no other host is in reach. For rsmstat, and for the log of programs. */
struct rsm_failed_request {
    uint32_t first; /* index from which on to tell, from 0 */
};
struct rsm_failed_item {
    char name[RSM_PROTO_NAME_MAX];
    char transport[RSM_TRANSPORT_NAME_MAX];
    char device[RSM_PROTO_NAME_MAX];
    uint64_t ago_ms;               /* since it was last tried, at least 1; 0: it is open */
    char text[RSM_PROTO_NAME_MAX]; /* why, and what to do */
};
struct rsm_failed_reply {
    uint32_t total; /* of all pages */
    uint32_t count; /* in this reply */
    struct rsm_failed_item items[RSM_PROTO_FAILED_MAX];
};

/** What users have of what the node has little of, for rsmstat: the limits and sums, and a page of
 *  users in the order in which they came. A user is told of himself, root and rsmd's own user of
 *  all. */
enum rsm_shares_resource {
    RSM_SHARES_CONNECTIONS = 0,
    RSM_SHARES_DESCRIPTORS = 1, /* that rsmd keeps for clients */
    RSM_SHARES_SEGMENTS = 2,    /* exports and imports */
    RSM_SHARES_BYTES = 3,       /* in extents, populated or not */
    RSM_SHARES_PINNED = 4,      /* bytes in extents of transports that pin them */
    RSM_SHARES_FORWARDS = 5,    /* requests that other hosts have not answered yet */
    RSM_SHARES_RECORDS = 6,     /* records and messages that nobody has fetched yet */
    RSM_SHARES_INTERRUPTS = 7,
    RSM_SHARES_COUNT = 8,
};
#define RSM_SHARES_ALL_USERS UINT32_MAX /* as uid: those of a node of another host together */
struct rsm_shares_request {
    uint64_t after; /* serial number of the last user that is known already; 0: from the first */
};
struct rsm_shares_limit {
    uint64_t total; /* nobody gets more; UINT64_MAX here and below: no limit */
    uint64_t users; /* all users together, but root and rsmd's own user */
    uint64_t one;   /* one of these users, or a node of another host */
    uint64_t used;  /* by all */
};
struct rsm_shares_user {
    uint64_t serial; /* ascending */
    uint32_t node;   /* of another host that he imports from; 0: he is on this one */
    uint32_t uid;    /* RSM_SHARES_ALL_USERS: what all users of `node` have */
    uint64_t used[RSM_SHARES_COUNT];
};
struct rsm_shares_reply {
    struct rsm_shares_limit limits[RSM_SHARES_COUNT];
    uint32_t more;  /* 1: there are further users behind the last of these */
    uint32_t count; /* in this reply */
    struct rsm_shares_user users[RSM_PROTO_USERS_MAX];
};

#endif
