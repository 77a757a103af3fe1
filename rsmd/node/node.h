/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The node's state: its clients and what they have. Only one thread uses it.
 *
 * A client owns extents, exports and imports. A connection has two ends. At the exporter's it is a
 * grant (grants.h), which lasts until it is revoked; at the importer's it is the import of a client
 * (imports.h), or what remote/ keeps for a process of another host. An import of what another host
 * exports has no grant here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "node/access.h"
#include "conf/conf.h"
#include "base/packet.h"
#include "protocol/runtime.h"
#include "node/generation_table.h"
#include "common/complaints.h"
#include "common/steps.h"
#include "node/shares.h"
#include "node/slotmap.h"
#include "common/tables.h"
#include "common/worker.h"

enum {
    RSMD_GROUPS_MAX = 65536,           /* the kernel's NGROUPS_MAX */
    RSMD_ATTACHED_MAX = 256,           /* to one segment: each gets a record of every connection */
    RSMD_SHARERS_MAX = 256,            /* of one number of interrupts: each gets all triggers */
    RSMD_FORWARDS_PER_CLIENT_MAX = 64, /* under way; further requests wait in the socket */
};

/** A configured controller and its open port. */
struct rsmd_controller {
    struct rsmd_controller *next;
    char name[RSM_PROTO_NAME_MAX];
    char device[RSM_PROTO_NAME_MAX];
    char options[RSM_PROTO_NAME_MAX];
    bool loopback;
    const struct rsm_node_ops *ops;
    struct rsm_node_port *port;
    struct rsm_port_attr attr;
    int event_fd;   /* the transport's: readable when its fabric has events; -1: it has none */
    bool link_down; /* the port has no link to the fabric */
    struct rsmd_reached *reached; /* nodes that the transport has reported (fabric.h) */
};

/** A configured controller whose port could not be opened. */
struct rsmd_failed {
    struct rsmd_failed *next;
    char name[RSM_PROTO_NAME_MAX];
    char transport[RSM_TRANSPORT_NAME_MAX];
    char device[RSM_PROTO_NAME_MAX];
    int64_t failed_ms;            /* rsm_clock_ms() when it was last tried */
    char why[RSM_PROTO_NAME_MAX]; /* with the remedy, if the transport names one */
};

/** Memory handed to a client. `uses` counts the piece lists that name it. */
struct rsmd_extent {
    struct rsmd_job job; /* frees it; first, so that it leads here */
    struct rsmd_node *node;
    bool asked;        /* freed by a request, which is answered afterwards */
    uint32_t sequence; /* of that request */
    uint32_t id;
    struct rsmd_client *client;
    struct rsmd_controller *controller;
    struct rsm_extent *memory;
    struct rsm_extent *adopted; /* the loopback controller's view of it; NULL: not needed yet */
    uint64_t length;
    uint64_t pinned; /* bytes of it that are charged as pinned */
    unsigned uses;
    bool offered;    /* another process may have it mapped, for good */
    bool given_back; /* its client has given it back: freed when it is unused */
    bool abandoned;  /* it is also in no table: its client ends, and a thread still uses it */
    struct rsmd_extent *prev, *next;
    UT_hash_handle hh;
};

/** The name of a segment that is published or has claimed its id. */
struct rsmd_segment_name {
    uint32_t space; /* enum rsm_id_space */
    uint32_t id;
};

/** The pieces of a published segment. The export and its connections, which may outlive the
 *  publication, share them. */
struct rsmd_pieces {
    unsigned references;
    uint32_t count;
    struct {
        struct rsmd_extent *extent;
        uint64_t offset;
        uint64_t length;
    } piece[];
};

/** The event counter of a handle: -1 where there is none yet. */
struct rsmd_events {
    int counter;  /* memfd of one rsm_event_counter */
    int doorbell; /* the end that rings: a byte makes the owner's poll descriptor readable */
    bool missed;  /* an event was lost because the counter could not be made */
    struct rsm_event_counter *kept; /* the counter's mapping; NULL: it is mapped when needed */
};

struct rsmd_export {
    uint32_t id;
    struct rsmd_client *client;
    struct rsmd_controller *controller;
    uint64_t length;
    uint64_t size; /* as importers see it: up to a page less */
    pid_t creator; /* 0: not known */
    uint32_t epoch_slot;
    struct rsmd_access access;
    bool published;
    bool claimed;                       /* it has its name until it ends (segment_ids.h) */
    bool shared;                        /* others of this node may attach to it */
    uint8_t state[RSM_PROTO_UNITS_MAX]; /* if claimed: enum rsm_segment_state, by adapter */
    bool offered;                       /* of the latest publication, kept after its end */
    bool ended; /* destroyed by its exporter, and freed with its last connection */
    struct rsmd_segment_name name;
    struct rsmd_pieces *pieces;  /* NULL unless published */
    struct rsmd_grant *grants;   /* connections, except attached processes */
    struct rsmd_grant *attached; /* attached processes */
    uint32_t grant_count;
    uint32_t attached_count;
    bool cutting;                   /* all connections are being cut (unfinished.h) */
    uint32_t notices;               /* how often it has become unavailable */
    struct rsmd_grant *report_next; /* the next importer to notify; NULL: none */
    struct {
        struct rsmd_grant *grant; /* NULL: not known */
        uint32_t index;           /* of it among `grants` */
    } page;                       /* where the next page of EVENT_RECEIVERS begins */
    struct rsmd_events events;
    struct rsmd_mailbox *records; /* of its connections; NULL: the exporter keeps none */
    struct rsmd_export *prev, *next;
    UT_hash_handle hh;         /* by id */
    UT_hash_handle hh_segment; /* by name, while published or claimed */
};

/** What a request has left to do (unfinished.h). */
struct rsmd_unfinished {
    uint32_t export_id; /* to the connections of this segment; 0: nothing */
    bool asked;         /* the request waits for it */
    uint32_t type;      /* of that */
    uint32_t sequence;
    struct rsm_export_end_reply reply;
};

/** One connected process. */
struct rsmd_client {
    bool greeted;
    uint32_t node;                /* its node */
    struct rsmd_account *account; /* held */
    uint32_t own_descriptors;     /* of its connection */
    struct rsmd_identity peer;
    /* Requests that are answered later. The caller keeps the descriptors. At the maximum, no
     * further request of the client is read. */
    struct rsmd_forward *forwards;
    uint32_t forward_count; /* of these, and of requests that wait for a thread or for offers */
    void (*answer)(struct rsmd_client *client, const struct rsm_msg *reply,
                   const struct rsm_packet_fds *fds);
    struct rsmd_unfinished unfinished;
    bool ending; /* no request of it is read, and no importer can connect to its exports */
    /* why it cannot be resumed: what was restored of it ends after the restoration */
    const char *lost;
    uint32_t jobs; /* of threads, on its behalf, and requests that wait for offers to end */
    /* called when it is ending and the last of these is over */
    void (*settled)(struct rsmd_client *client);
    struct rsmd_extent *extents;
    struct rsmd_export *exports;
    struct rsmd_import *imports;
    struct rsmd_interrupt *interrupts; /* interrupts.h */
};

/** Another node, as the last look found it. */
struct rsmd_seen {
    uint32_t id;
    uint8_t here;     /* on controllers that reach only this host; enum rsmd_node_state */
    uint8_t anywhere; /* on those that reach other hosts, too */
    bool has_socket;  /* in the runtime directory */
    pid_t pid;        /* of the daemon that listened; 0: not known */
    int64_t listened; /* when it was last found listening here, ns; 0: never */
};

/** What the last look at the other nodes found. */
struct rsmd_topology {
    uint32_t generation;
    int64_t looked_at;      /* clock, in nanoseconds */
    int64_t looks_ns;       /* how long looks may take from now on */
    struct rsmd_seen *seen; /* ascending by id: those that are configured, or were found here */
    uint32_t count, room;
};

struct rsmd_cluster;

/** The latest request for a segment that was refused (refusals.h). */
struct rsmd_refusal {
    int64_t at_ms; /* rsm_clock_ms(); 0: there was none */
    uint32_t type;
    enum rsm_status status;
    pid_t pid;
    uid_t uid;
};

struct rsmd_node {
    uint32_t id;
    bool embedded;
    bool one_user; /* serves only `owner` */
    uid_t owner;   /* the user that the daemon runs as */
    struct rsmcore_runtime runtime;
    int userfaultfd; /* the device, for clients; -1: not lent */
    struct rsmd_conf conf;
    struct rsmd_controller *controllers;
    struct rsmd_failed *failed; /* controllers of `conf` that are not among these */
    struct rsmd_generation_table *generation_table;
    struct rsmd_topology topology;
    const struct rsmd_hosts_ops *hosts_ops; /* hosts.h */
    struct rsmd_remotes *hosts;             /* links to other hosts; NULL: there are none */
    struct rsmd_extent *extents;            /* by id */
    struct rsmd_export *exports;            /* by id */
    struct rsmd_export *published;          /* by name; with those that have claimed one */
    struct rsmd_importer *importers;        /* by id */
    struct rsmd_grant *offers;    /* by made: connections whose fabric may report events */
    struct rsmd_guest *guests;    /* by export and user */
    struct rsmd_revokes *revokes; /* offers that are ending; NULL: all end at once (revokes.h) */
    struct rsmd_slotmap *exports_by_slot;
    struct rsmd_slotmap *importers_by_slot;
    struct rsmd_slotmap *interrupts_by_place; /* places are not slots of the generation table */
    struct rsmd_worker *worker;               /* for long jobs; NULL: all is done at once */
    uint32_t last_id;
    struct rsmd_interrupt *interrupts;           /* by id */
    struct rsmd_interrupt *interrupts_by_number; /* by kind and number */
    uint32_t last_interrupt;                     /* number that was assigned */
    uint64_t last_record;                        /* order of the latest one (mailbox.h) */
    struct rsmd_bucket missed_log;               /* complaints about events */
    uint64_t next_segment_id
        [RSM_ID_SPACES_THAT_ASSIGN]; /* to assign; beyond 32 bits: see segment_ids.c */
    struct rsmd_shares shares;
    uint32_t client_count;        /* that have said HELLO */
    uint64_t connects, events;    /* so far, for rsmstat (struct rsm_inspect_reply) */
    struct rsmd_steps steps;      /* of the event loop */
    bool has_turns;               /* a server continues unfinished work; else all is done at once */
    struct rsmd_cluster *cluster; /* links to other hosts; NULL: there are none */
    struct rsmd_refusal refusal;
    struct rsmd_buckets complaints; /* bound the log lines that clients and other nodes cause */
};

/**
 * Make the node: open its controllers, make its generation table. @p conf is copied, except its
 * nodes, which must stay. @param why receives the reason of a failure.
 */
bool rsmd_node_init(struct rsmd_node *node, uint32_t id, bool embedded,
                    const struct rsmcore_runtime *runtime, const struct rsmd_conf *conf, char *why,
                    size_t why_size);
/** Whether an object of this node has that id. 0 is never free. */
bool rsmd_id_in_use(const struct rsmd_node *node, uint32_t id);
/** A free id. */
uint32_t rsmd_new_id(struct rsmd_node *node);

/** Free everything; there must be no clients left. */
void rsmd_node_end(struct rsmd_node *node);
