/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Descriptors that one process attaches to what it sends to another, good and bad, and
 *  whether all that were handed out are closed in the end. */
#ifndef TESTS_FUZZ_DESCRIPTORS_H
#define TESTS_FUZZ_DESCRIPTORS_H

#include "base/packet.h"
#include "input.h"

/** How many descriptors this process has open. */
unsigned descriptors_open(void);

/** A new descriptor of a kind that the input chooses: pipes, files, sockets, memory of all sizes
 * with and without seals. @p own, a socket, is one of the choices. Never fails. */
int descriptor_make(struct input *in, int own);

/** Shared memory of @p length bytes with @p seals. Never fails. */
int descriptor_memory(uint64_t length, int seals);

#endif
