/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Loops whose registers grow by the same amount with each round (induction variables), and
 *  which store to one stretch without a hole: what they will store needs no instruction to be
 *  carried out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mapping/loop_code.h"

struct mapping_loop;

enum { MAPPING_ROUND_OPS = 48 }; /* instructions of a round, at most */

/** A round, computed from the registers at its beginning. */
struct mapping_round {
    uint64_t reg[16];                   /**< at its end */
    uint64_t result[MAPPING_ROUND_OPS]; /**< address of a load or store, else what is computed */
    uint64_t stored[MAPPING_ROUND_OPS]; /**< number that is stored */
    uint64_t a, b, compared;            /**< operands and result of what the branch asks for */
};

/** A store of each round. */
struct mapping_induction_store {
    const struct mapping_op *op;
    size_t place;          /**< from the lowest byte that the round stores */
    uint64_t value, grows; /**< in the next round, and by how much with each; of a number */
    const uint8_t *bytes;  /**< of a vector, the same in each round; NULL: it stores a number */
};

/** What a loop does that is at the beginning of a round. */
struct mapping_induction {
    const struct mapping_op *op[MAPPING_ROUND_OPS]; /**< all but the branch at the end */
    unsigned ops;
    uint64_t grows[16]; /**< each register, with each round; what is loaded does not */
    uint64_t rounds;    /**< before the loop's last round there are so many, at least */

    uintptr_t to;  /**< lowest byte that the next round stores to */
    size_t length; /**< bytes that each round stores; it begins where the one before it ends */
    bool down;     /**< or ends where that begins */

    bool copies;    /**< it stores what it loads, or else what `store` says */
    uintptr_t from; /**< where the next round loads that, as a whole and in the same order */
    struct mapping_induction_store store[MAPPING_ROUND_OPS];
    unsigned stores;

    struct mapping_round round[2]; /**< the next two: what is known follows from them */
};

/** Whether the loop whose last instruction is @p branch, and which is behind that, is one. */
bool mapping_induction_find(struct mapping_loop *loop, const struct mapping_op *branch,
                            struct mapping_induction *found);
