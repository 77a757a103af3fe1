/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Values that fields of the control protocol take (protocol/bodies.def). */
#pragma once

/** Name spaces of segment ids, one for each API. Segments of different spaces may have the same id
 *  and do not see each other. A request that names no space of these is refused with
 *  RSM_ST_INVALID. rsmd/node/segment_ids.c has the rules of each space. */
enum rsm_id_space {
    RSM_ID_SPACE_RSMAPI = 0, /* 1 to 0x7fffffff may be asked for. Ids from 0x80000000 upward are
                                assigned, each of them once in the daemon's life */
    RSM_ID_SPACE_SISCI = 1,  /* any id may be asked for, 0 included; assigned is the first free id
                                from the one in the request upward */
    RSM_ID_SPACE_SISCI_GROUPS = 2, /* members of SISCI's broadcast segments: any id may be asked
                                      for, and none is assigned */
    RSM_ID_SPACES = 3,
    RSM_ID_SPACES_THAT_ASSIGN = 2, /* the first ones */
};

/** Where the rsmd of a node is. */
enum rsm_locate_kind {
    RSM_LOCATE_SELF = 0,      /* this rsmd is that node */
    RSM_LOCATE_SAME_HOST = 1, /* talk to the socket in `path` */
    RSM_LOCATE_REMOTE = 2,    /* send IMPORT_CONNECT to this rsmd */
};

/** How EXPORT_CREATE claims an id. */
enum rsm_claim {
    RSM_CLAIM_NONE = 0,   /* PUBLISH names the id */
    RSM_CLAIM_ID = 1,     /* `segment_id` */
    RSM_CLAIM_ASSIGN = 2, /* rsmd chooses; `segment_id` is where to begin, as the space has it */
};

/** The state of a segment that has claimed its id, on one adapter. It is OPEN on none to begin
 *  with, and UNPUBLISH takes it back to READY where it is OPEN. */
enum rsm_segment_state {
    RSM_SEGMENT_NEW = 0,
    RSM_SEGMENT_READY = 1,
    RSM_SEGMENT_OPEN = 2, /* connectable. RSM_ST_NOT_PUBLISHED: rsmd knows no memory of it */
};

/** An end of a segment that has an event counter, named by the client that owns it. */
enum rsm_event_end {
    RSM_EVENT_EXPORT = 1,
    RSM_EVENT_IMPORT = 2,
    /* Not an end, but the records of one, which have a counter of their own: EVENT_OPEN makes rsmd
     * keep them from then on; EVENT_ARM. Only rsmd posts there, once for each record. */
    RSM_EVENT_EXPORT_RECORDS = 3,
    RSM_EVENT_IMPORT_RECORDS = 4,
    /* An interrupt, likewise: one event for each time that it is triggered. */
    RSM_EVENT_INTERRUPT = 5,
};

/** What has happened to a segment's connections, for its exporter, or to one of them, for its
 *  importer. An exporter gets CONNECTED for each connection, and one of the next three when it
 *  ends. An importer may get UNAVAILABLE, any number of times, and gets LOST in the end. Both may
 *  get SILENT and ANSWERS, in turn, of connections with a node of another host. */
enum rsm_record_event {
    RSM_RECORD_CONNECTED = 1,
    RSM_RECORD_DISCONNECTED = 2, /* by the importer */
    RSM_RECORD_CUT = 3,          /* by the exporter, which unpublished the segment */
    RSM_RECORD_LOST = 4,        /* the process at the other end, its node or the fabric has gone, or
                                   the exporter has cut the importer off */
    RSM_RECORD_UNAVAILABLE = 5, /* the exporter asks its importers to leave; the memory is still
                                   shared */
    RSM_RECORD_OVERFLOW = 6, /* RSM_MAILBOX_MAX records, or as many as the user may have, were not
                                fetched, so that later ones were lost */
    RSM_RECORD_SILENT = 7,   /* the node at the other end does not answer, for now ... ... */
    RSM_RECORD_ANSWERS = 8,  /* ... it does again */
};

/** Named interrupts: events without a segment, under a number of the node. Each kind has all
 *  numbers of 32 bits to itself. */
enum rsm_interrupt_kind {
    RSM_INTERRUPT_PLAIN = 1,  /* counts */
    RSM_INTERRUPT_DATA = 2,   /* has a queue of messages */
    RSM_INTERRUPT_STORES = 3, /* the same: of stores to the SISCI segment that has the number as its
                                 id (sisci/stores.h) */
};

/** The content of a page of INSPECT. */
enum rsm_inspect_what {
    RSM_INSPECT_EXPORTS = 1,
    RSM_INSPECT_IMPORTS = 2,
};

/** The state of a segment. Of a SISCI segment, which has one for each adapter, the most
 *  advanced. */
enum rsm_inspect_state {
    RSM_INSPECT_NEW = 0,       /* without an id */
    RSM_INSPECT_CREATED = 1,   /* SISCI: it has an id */
    RSM_INSPECT_PREPARED = 2,  /* SISCI: it is prepared on an adapter */
    RSM_INSPECT_AVAILABLE = 3, /* importers with the right may connect */
};

/** The state of a link to another host's rsmd. */
enum rsm_link_state {
    RSM_LINK_DOWN = 1,
    RSM_LINK_STARTING = 2, /* connected, not yet authenticated */
    RSM_LINK_UP = 3,
    RSM_LINK_NEIGHBOUR = 4, /* on this host, in the same runtime directory: needs no link */
    RSM_LINK_SELF = 5,      /* this node; the address is where it listens, if other nodes call it */
    RSM_LINK_IDLE = 6,      /* known and not linked: the link is made on demand */
};
enum rsm_link_auth {
    RSM_LINK_AUTH_NONE = 1,
    RSM_LINK_AUTH_MUNGE = 2,
    RSM_LINK_AUTH_TLS = 3,
};

/** What users share. */
enum rsm_shares_resource {
    RSM_SHARES_CONNECTIONS = 0,
    RSM_SHARES_DESCRIPTORS = 1, /* that rsmd keeps for clients */
    RSM_SHARES_SEGMENTS = 2,    /* exports and imports */
    RSM_SHARES_BYTES = 3,       /* in extents, populated or not */
    RSM_SHARES_PINNED = 4,      /* bytes in extents of transports that pin them */
    RSM_SHARES_FORWARDS = 5,    /* requests that other hosts have not answered yet */
    RSM_SHARES_RECORDS = 6,     /* records and messages that are not fetched yet */
    RSM_SHARES_INTERRUPTS = 7,
    RSM_SHARES_THREADS = 8, /* that transports keep for connections */
    RSM_SHARES_COUNT = 9,
};
