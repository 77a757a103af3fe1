/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What has been stored through a map that raises interrupts, and the message in which the
 *  exporter learns of it (RSM_INTERRUPT_STORES). Callers exclude one another. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SISCI_STORES_MAX = 60,                         /**< ranges of one message */
    SISCI_STORES_BYTES = 8 + SISCI_STORES_MAX * 16 /**< of the longest message */
};

/** Bytes of a segment. */
struct sisci_store {
    uint64_t offset, length;
};

struct sisci_stores {
    bool unconditional; /**< each raises an interrupt, whether or not it is enabled */
    unsigned count;
    struct sisci_store store[SISCI_STORES_MAX];
};

/** Add a store. Conditional ones are merged with what they touch; when there is no room, any is
 *  merged with the one that is nearest, so that the range also has bytes that were not stored. */
void sisci_stores_add(struct sisci_stores *stores, uint64_t offset, uint64_t length);

/** Write the message; its length. */
size_t sisci_stores_write(const struct sisci_stores *stores, uint8_t bytes[SISCI_STORES_BYTES]);

/** Read a message of any process. False: it is none. Ranges may be anywhere. */
bool sisci_stores_read(struct sisci_stores *stores, const uint8_t *bytes, size_t length);

/** Whether a store has bytes in [offset, offset + length), which does not wrap. */
bool sisci_store_touches(const struct sisci_store *store, uint64_t offset, uint64_t length);
