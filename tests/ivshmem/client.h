/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A client of an ivshmem server: shared memory, and doorbells of two peers. The protocol is that of
 * QEMU's ivshmem-doorbell devices. The server counts as hardware: it is trusted.
 *
 * An id is never used twice. Its lowest bit says which half of the memory is this side's pool.
 */
#ifndef TESTS_IVSHMEM_CLIENT_H
#define TESTS_IVSHMEM_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

/* Vectors. Processes ring IVSHMEM_POST_BELL and nobody else does. As they could fill it or make
 * it block, a daemon neither reads nor writes it: it is told of each ring by an edge-triggered
 * epoll. */
enum { IVSHMEM_VECTORS_MAX = 8, IVSHMEM_BELL = 1, IVSHMEM_POST_BELL = 2 };

struct ivshmem {
    int socket; /**< -1 once the server has gone */
    int memory; /**< descriptor of the shared memory */
    uint64_t size;
    uint8_t *base; /**< all of it, mapped */
    uint32_t id;
    bool peer; /**< there is one */
    uint32_t peer_id;
    unsigned peer_bells; /**< of the peer's vectors */
    int peer_bell[IVSHMEM_VECTORS_MAX];
    unsigned bells;
    int bell[IVSHMEM_VECTORS_MAX];
};

/** Connect and map. False, and the log says what is wrong. */
bool ivshmem_open(struct ivshmem *ivshmem, const char *path);
void ivshmem_close(struct ivshmem *ivshmem);
/** Take what the server has sent. False: it has gone. */
bool ivshmem_service(struct ivshmem *ivshmem);
/** Ring the peer, if there is one. */
void ivshmem_ring(const struct ivshmem *ivshmem);
/** Take the rings of the own bells, but for IVSHMEM_POST_BELL. */
void ivshmem_take_bells(const struct ivshmem *ivshmem);

#endif
