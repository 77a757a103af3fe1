/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The control protocol (protocol/proto.h): events and records. */
#ifndef RSMCORE_PROTO_EVENT_H
#define RSMCORE_PROTO_EVENT_H

#include <stdint.h>

#include "protocol/proto_limits.h"

/** An end of a segment that has an event counter, named by the client that owns it. */
enum rsm_event_end {
    RSM_EVENT_EXPORT = 1,
    RSM_EVENT_IMPORT = 2,
    /* Not an end, but the records of one, which have a counter of their own: EVENT_OPEN makes rsmd
     * keep them from then on; EVENT_ARM. Only rsmd posts there, once for each record. */
    RSM_EVENT_EXPORT_RECORDS = 3,
    RSM_EVENT_IMPORT_RECORDS = 4,
    RSM_EVENT_INTERRUPT =
        5, /* an interrupt, likewise: one event for each time that it is triggered */
};
/** The counter of an own handle. Reply: descriptor 0, an event counter (event_counter.h),
 * read-write. RSM_ST_NO_RESOURCES: it cannot be made, or could not be when an event was posted,
 * which is lost; that is told once. */
struct rsm_event_open_request {
    uint32_t end; /* enum rsm_event_end */
    uint32_t id;
};
/** The counters that a post on an own handle reaches: of an import the exporter's, of an export
 *  those of all live connections. Reply: one descriptor per counter, in order, but none for a peer
 *  named 0: that importer has no counter, because rsmd cannot make one, and gets an error when it
 *  looks for events. An import whose exporter has gone gets none. */
struct rsm_event_receivers_request {
    uint32_t end;
    uint32_t id;
    uint32_t first; /* index of the first wanted */
};
struct rsm_event_receivers_reply {
    uint32_t epoch; /* value of the epoch slot that this answer belongs to */
    uint32_t total;
    uint32_t count;                         /* in this reply */
    uint32_t peers[RSM_PROTO_COUNTERS_MAX]; /* names for EVENT_DOORBELL; the exporter's is 0 */
};
/** Own handle is to have a poll descriptor: one end of a pair of sockets, in place of a former one.
 *  Reply: descriptor 0, the end that is polled. A second request, with `ringing`, gets the other one, by
 *  which the owner itself makes the first readable. Others ask for it by EVENT_DOORBELL.
 *  RSM_ST_NOT_FOUND: there was no first request. */
struct rsm_event_arm_request {
    uint32_t end;
    uint32_t id;
    uint32_t ringing; /* 0 or 1 */
};
/** The sender has posted to the counter of a peer, which says that it is armed: make the peer's poll
 *  descriptor readable, or let rsmd pass on what a relay's counter holds. RSM_ST_NOT_FOUND: there is
 *  none, or nobody looks at it any more. */
struct rsm_event_doorbell_request {
    uint32_t end;
    uint32_t id;
    uint32_t peer; /* from rsm_event_receivers_reply */
};

/** What has happened to a segment's connections, for its exporter, or to one of them, for its
 *  importer. An exporter gets CONNECTED for each connection, and one of the next three when it
 * ends. An importer may get UNAVAILABLE, any number of times, and gets LOST in the end. */
enum rsm_record_event {
    RSM_RECORD_CONNECTED = 1,
    RSM_RECORD_DISCONNECTED = 2, /* by the importer */
    RSM_RECORD_CUT = 3,          /* by the exporter, who unpublished the segment */
    RSM_RECORD_LOST = 4,        /* the process at the other end, its node or the fabric has gone, or
                                   the exporter has cut the importer off */
    RSM_RECORD_UNAVAILABLE = 5, /* the exporter asks its importers to leave; the memory is still
                                   shared */
    RSM_RECORD_OVERFLOW = 6, /* RSM_RECORDS_KEPT records, or as many as the user may have, were not
                                fetched, so that later ones were lost */
};
struct rsm_record {
    uint32_t event;      /* enum rsm_record_event */
    uint32_t node;       /* at the other end; 0 of an overflow */
    uint32_t connection; /* which: the same number in all records about it; 0 of an overflow */
    uint32_t lost;       /* of an overflow: how many records; else 0 */
    uint64_t order;      /* ascending in all records of an rsmd, never 0 */
};
/** Fetch the records of an own handle, oldest first, and discard those that were fetched before.
 *  RSM_ST_NOT_FOUND: rsmd keeps none for it. */
struct rsm_records_request {
    uint32_t end; /* RSM_EVENT_EXPORT_RECORDS or RSM_EVENT_IMPORT_RECORDS */
    uint32_t id;
    uint64_t after; /* `order` of the last one that has arrived here; 0: none has */
};
struct rsm_records_reply {
    uint32_t count; /* in this reply; 0: there are no more */
    struct rsm_record records[RSM_PROTO_RECORDS_MAX];
};

#endif
