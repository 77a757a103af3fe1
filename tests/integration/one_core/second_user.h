/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A second user of the core in a process: what a library that offers another API is to
 * librsm.so.2. It is linked to the private version node and knows nothing of RSMAPI. One export,
 * one import, one mapping. The functions return the core's status, as an int, or -1.
 */
#ifndef TESTS_INTEGRATION_SECOND_USER_H
#define TESTS_INTEGRATION_SECOND_USER_H

#include <stddef.h>
#include <stdint.h>

#define SECOND_USER __attribute__((visibility("default")))

/** Export memory and publish it to everybody as @p id. */
SECOND_USER int second_offer(void *memory, size_t length, uint32_t id);
SECOND_USER int second_withdraw(void);

/** Connect to a segment, and map @p length bytes of it. */
SECOND_USER int second_attach(uint32_t node, uint32_t id, size_t length);
SECOND_USER int second_detach(void);
SECOND_USER int second_put(uint64_t offset, uint64_t value);
SECOND_USER int second_get(uint64_t offset, uint64_t *value);

/** The mapping of second_attach(). */
SECOND_USER volatile uint64_t *second_mapping(void);

/** Make a page that a handler of its own makes accessible at the first store, add the handler to
 * the chain, store to the page. second_untrap() takes the handler away. */
SECOND_USER int second_trap(void);
SECOND_USER void second_untrap(void);

#endif
