/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Both halves of two nodes, joined by an ivshmem server that is a thread of the test. Node
 * 1 exports a segment, and a process of node 2 imports it.
 */
#ifndef TESTS_UNIT_NTB_TWO_HOSTS_H
#define TESTS_UNIT_NTB_TWO_HOSTS_H

#include "base/clock.h"
#include "cases.h"
#include "rsm/transport.h"
#include "session.h"
#include "transport/ntb/node/window.h"
#include "words.h"

#define PAGE       UINT64_C(4096)
#define MEMORY     (UINT64_C(16) << 20) /* of both hosts */
#define READ_WRITE (RSM_RIGHT_READ | RSM_RIGHT_WRITE)

enum { PATIENCE_MS = 20000, TICK_US = 500, LENGTH = 4 * 4096 };

extern const struct rsm_node_ops rsm_transport_node_ops_v1;
extern const struct rsm_import_ops rsm_transport_import_ops_v1;
static const struct rsm_node_ops *const node_ops = &rsm_transport_node_ops_v1;
static const struct rsm_import_ops *const import_ops = &rsm_transport_import_ops_v1;

/** What begin() finds at *state, or NULL there; members that are 0 have defaults. */
struct settings {
    unsigned vectors;   /**< of the server */
    unsigned plain;     /**< node without doorbells */
    const char *timing; /**< of both ports, as their device has it */
};
extern struct settings settings;

extern uint8_t *shared; /**< all of the memory */
extern int stop;        /**< eventfd: ends the server */

extern struct host {
    struct rsm_node_port *port;
    uint32_t peer; /**< node in reach; 0: none */
    uint64_t epoch;
    unsigned downs;
    uint64_t posts;                    /**< that accumulate */
    uint64_t coalesced;                /**< reports of posts that coalesce */
    uint32_t largest;                  /**< number of one report */
    const struct rsm_node_offer *last; /**< that was reported */
} host[3];                             /**< by node */

extern struct rsm_port *importer;

extern struct segment {
    struct rsm_extent *extent;
    struct rsm_node_offer *made;
    struct rsm_node_import *entry;
    struct rsm_conn *conn;
    struct rsm_offer grant;
} segment;

/** Open both hosts and wait for the session; close what there is. Setup and teardown. */
int begin(void **state);
int end(void **state);

void open_host(unsigned node);
void close_host(unsigned node);
void look(unsigned node);
void await_session(void);
/** Bytes of the node's pool. */
uint64_t used(unsigned node);

enum rsm_status offer_it(uint32_t rights);
enum rsm_status accept_it(uint32_t rights, struct rsm_offer *ticket);
void connect_it(uint32_t rights);
void disconnect_it(void);
/** Make an extent, and all the rest. */
void import_it(void);
/** The first word of the segment. */
uint64_t exported_word(void);
enum rsm_status put_word(uint64_t word);
/** What the exporter had when it ended the import must not change any more. */
void nothing_lands(void);

/* Both look until the condition holds. */
#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        int64_t end_ = rsm_clock_ms() + PATIENCE_MS;                                               \
        while (!(condition)) {                                                                     \
            look(1);                                                                               \
            look(2);                                                                               \
            usleep(TICK_US);                                                                       \
            if (rsm_clock_ms() > end_)                                                             \
                fail_msg("%s does not come true", #condition);                                     \
        }                                                                                          \
    } while (0)

#endif
