/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Both halves of the verbs transport in two processes without rsmd between them: a child runs the
 * node half on one device and does what the test tells it over a socket; the test runs the import
 * half on the other. The test maps the extents itself, as an exporter would.
 *
 * The devices are those of the environment variables RSM_TEST_NODE_DEVICE and
 * RSM_TEST_IMPORT_DEVICE (rxe2 and rxe1). A machine without them skips.
 */
#ifndef TESTS_VERBS_PAIR_H
#define TESTS_VERBS_PAIR_H

#include <sys/types.h>

#include "transport/generic.h"
#include "transport/verbs/import/import.h"
#include "transport/entry.h"
#include "transport/verbs/node/pool.h"

/** What the node has seen. */
struct node_report {
    uint64_t signals;
    uint64_t coalesced;
    uint64_t lost;
    uint64_t taken; /**< signals of the exporter, by the importer: how often */
    bool paused;    /**< see node_pause() */
    struct verbs_pool_counts pool;
};

struct pair {
    pid_t node;
    int socket;
    struct rsmcore_import_table table; /* completed as the library does */
    const struct rsm_import_ops *ops;  /* in it */
    struct rsm_port *port;
};

/** An extent at the node, mapped here. */
struct remote {
    uint32_t index;
    uint64_t length;
    uint8_t *bytes;
};

/** Call this first in main(): it becomes the node where the program was started as that, and exits
 *  with 77 unless both devices are there. */
void pair_main(int argc, char **argv);

/** Start a node with its options and open the import half with its own. */
struct pair *pair_open(const char *node_options, const char *import_options);
void pair_close(struct pair *pair);

/** The operations by which a forked child reaches a connection of its parent: the library gives it
 *  no others. Called by the parent; @p conn then belongs to them, too. */
const struct rsm_import_ops *pair_guard(struct pair *pair, struct rsm_conn *conn);
/** The parent goes on with it alone. */
void pair_unguard(struct rsm_conn *conn);

struct remote remote_make(struct pair *pair, uint64_t length);
void remote_free(struct pair *pair, struct remote *remote);

/** A piece list for one offer. */
struct remote_piece {
    const struct remote *remote;
    uint64_t offset;
    uint64_t length;
};

/** Let the node offer; *made is for node_revoke(). */
enum rsm_status node_offer(struct pair *pair, const struct remote_piece *pieces, unsigned count,
                           uint32_t rights, struct rsm_offer *offer, uint32_t *made);
void node_revoke(struct pair *pair, uint32_t made);
/** Let the node accept one more connection and look at nothing of the fabric afterwards, until it
 *  revokes an offer. */
void node_pause(struct pair *pair);
struct node_report node_report(struct pair *pair);
/** Let the node signal the importer. */
enum rsm_status node_signal(struct pair *pair, uint32_t made, uint32_t count, bool coalesced);
/** ... whatever is under way, with that immediate data and as many bytes: what no node does. */
void node_lie(struct pair *pair, uint32_t made, uint32_t immediate, uint32_t bytes);
/** Ask until the pool's thread has nothing to do. */
void node_settle(struct pair *pair);

/** Offer the whole extent and connect. */
struct rsm_conn *pair_connect(struct pair *pair, const struct remote *remote, uint32_t rights,
                              uint32_t *made);

/** Complete, and whether the connection has failed; its first failure is its last. */
static inline enum rsm_status pair_complete(const struct pair *pair, struct rsm_conn *conn)
{
    enum rsm_status status = pair->ops->complete(conn);
    return status == RSM_ST_OK && rsm_conn_failures(conn) != 0 ? RSM_ST_TRANSFER : status;
}

/** Fill with bytes that follow from the seed; and whether they are still those. */
void pattern_fill(void *bytes, size_t length, uint32_t seed);
int pattern_is(const void *bytes, size_t length, uint32_t seed);

/** Milliseconds of a clock that never goes back. */
int64_t clock_ms(void);

#endif
