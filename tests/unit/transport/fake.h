/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A transport without a fabric, for tests: segments are memory of this process. It has the
 * mandatory operations only, writes down every call, fails when told, and can keep writes back and
 * deliver them in any order that the contract allows.
 */
#ifndef RSM_TESTS_FAKE_TRANSPORT_H
#define RSM_TESTS_FAKE_TRANSPORT_H

#include "rsm/transport.h"

extern const struct rsm_import_ops fake_import_ops; /* name "fake" */

struct fake_segment;

enum fake_op {
    FAKE_CONNECT,
    FAKE_DISCONNECT,
    FAKE_PUT,
    FAKE_GET,
    FAKE_ORDER,
    FAKE_COMPLETE,
    FAKE_DELIVERY, /* a delayed put arrives; fails later than its call, and is counted */
    FAKE_OPS,
};

struct fake_call {
    enum fake_op op;
    uint64_t offset;
    size_t length;
};

/** A segment of zeros, @p size bytes; NULL if there are too many (16) or no memory. */
struct fake_segment *fake_segment_make(size_t size);
/** After all its connections have ended. */
void fake_segment_free(struct fake_segment *segment);
/** The memory that puts reach. Look only while no other thread transfers. */
uint8_t *fake_segment_memory(struct fake_segment *segment);
/** An offer of it, for any rights. */
void fake_segment_offer(const struct fake_segment *segment, struct rsm_offer *offer);

/** From now on keep puts back until order() or complete(); those that no order() separates are
 *  delivered in an order made from @p seed. A get sees only what has been delivered. */
void fake_segment_delay(struct fake_segment *segment, uint32_t seed);
/** Let the call of @p op after the next @p skip ones fail with @p status, once. */
void fake_segment_fail(struct fake_segment *segment, enum fake_op op, unsigned skip,
                       enum rsm_status status);

/** Calls since the last fake_segment_forget(), oldest first; at most 256 are kept. */
const struct fake_call *fake_segment_calls(const struct fake_segment *segment, unsigned *count);
void fake_segment_forget(struct fake_segment *segment);

#endif
