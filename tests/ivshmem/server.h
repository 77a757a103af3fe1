/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A server for QEMU's ivshmem-doorbell devices and for the ivshmem port of the NTB
 * transport: shared memory and doorbells for two hosts, like a cable between two bridges.
 *
 * No id is used twice, because QEMU corrupts its heap when one is. The lowest bit of an id is
 * the number of the half of the memory that belongs to the client. A third client waits until
 * one of the others has gone.
 */
#ifndef TESTS_IVSHMEM_SERVER_H
#define TESTS_IVSHMEM_SERVER_H

#include <stdbool.h>
#include <stdint.h>

enum { IVSHMEM_SERVER_VECTORS = 3, IVSHMEM_SERVER_VECTORS_MAX = 16 };

/** Make and bind the socket, for one user. -1 with errno. */
int ivshmem_server_listen(const char *path);
/** A memfd that is sealed against shrinking. -1 with errno. */
int ivshmem_server_memory(uint64_t size);
/** Serve until @p stop polls readable. False: an error, with errno. */
bool ivshmem_server_run(int listener, int memory, unsigned vectors, int stop);

#endif
