/* SPDX-License-Identifier: BSD-3-Clause */
/** @file One call that moves data: a vector on its way through a connection. */
#pragma once

#include "transport/verbs/import/import.h"

struct stream {
    struct verbs_conn *conn;
    const struct rsm_transfer *vec;
    unsigned count;
    unsigned entry;
    uint64_t at;                      /* bytes into the entry */
    uint32_t unit;                    /* most bytes of one request */
    bool elements;                    /* each request is one element */
    bool locked;                      /* regions_lock is held */
    const struct verbs_region *extra; /* a registration for this call alone, or NULL */
};

/** What one work request moves. */
struct fragment {
    uint8_t *local;
    uint64_t address; /**< at the node */
    uint32_t key;
    uint32_t length;
};

/** The longest run from here on that lies in one piece and fits one request. False: all of the
 *  vector has been moved; else the caller adds what it moves of the fragment to `at`. */
bool verbs_stream_next(struct stream *stream, struct fragment *fragment);

/** The maximum of bytes of one read. The remote adapter answers reads as fast as it can. What a
 *  fabric without flow control drops of a burst is repeated only after a time-out. A fast device
 *  needs no more than VERBS_READ_WINDOW bytes in flight. */
enum { VERBS_READ_MAX = 128 * 1024, VERBS_READ_WINDOW = 8 * VERBS_READ_MAX };

enum direction { WRITING, READING };

/**
 * Move all of it. A write returns when the caller may reuse its memory, a read when the data is
 * there.
 * @param done  entries that are complete; all of them on success.
 * @return RSM_ST_OK; RSM_ST_STALE: the connection is another process's; RSM_ST_TRANSFER.
 */
enum rsm_status verbs_stream_run(struct stream *stream, enum direction direction, unsigned *done);
