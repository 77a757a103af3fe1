/* SPDX-License-Identifier: BSD-3-Clause */
/** @file One call that moves data: a vector on its way through a connection. */
#ifndef VERBS_STREAM_H
#define VERBS_STREAM_H

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

enum direction { WRITING, READING };

/**
 * Move all of it. A write returns when the caller may reuse its memory, a read when the data is
 * there.
 * @param done  entries that are complete; all of them on success.
 * @return RSM_ST_OK; RSM_ST_STALE: the connection is another process's; RSM_ST_TRANSFER.
 */
enum rsm_status verbs_stream_run(struct stream *stream, enum direction direction, unsigned *done);

#endif
