/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Both halves of shm face to face: extents, an exporter's view of them, and connections. */
#ifndef RSM_TESTS_SHM_PAIR_H
#define RSM_TESTS_SHM_PAIR_H

#include "rsm/transport.h"

enum { PAIR_EXTENTS = 3 };

struct shm_pair {
    const struct rsm_node_ops *node;
    const struct rsm_import_ops *import;
    struct rsm_node_port *node_port;
    struct rsm_port *port;
    size_t page;
    struct rsm_extent *extents[PAIR_EXTENTS];
    int fds[PAIR_EXTENTS];
    uint8_t *memory[PAIR_EXTENTS]; /* as the exporter maps it */
    size_t extent_size;            /* of each, 4 pages */
};

/** cmocka setup and teardown; the pair is *state. */
int shm_pair_setup(void **state);
int shm_pair_teardown(void **state);

/** Pieces of the standard segment, ascending: pages 1 and 2 of extent 0, page 3 of extent 1, page
 *  0 of extent 1, and all of extent 2: 8 pages, so that neither extents nor pages are in order. */
enum { PAIR_PIECES = 4, PAIR_SEGMENT_PAGES = 8 };
void shm_pair_pieces(const struct shm_pair *pair, struct rsm_extent_piece *pieces);

/** Where the exporter sees a byte of the standard segment. */
uint8_t *shm_pair_at(const struct shm_pair *pair, uint64_t offset);

/** An offer of the standard segment; the caller closes its descriptors. */
void shm_pair_offer(struct shm_pair *pair, uint32_t rights, struct rsm_offer *offer);
void shm_offer_close(struct rsm_offer *offer);

/** Connect to the standard segment; `ops` is set as the core does it. */
struct rsm_conn *shm_pair_connect(struct shm_pair *pair, uint32_t rights);

/** How many descriptors this process has open. */
unsigned descriptors_open(void);

/** Run @p body in a child; returns the status of waitpid(). A failed assertion of the child must
 *  be its exit status: the body returns it. */
int in_child(int (*body)(void *), void *argument);

#endif
