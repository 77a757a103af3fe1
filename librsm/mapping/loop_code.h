/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The instructions that loops are made of which copy or fill memory, in a form that can be
 *  carried out quickly: loop_code_x86.c makes it, loop_x86.c carries it out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mapping_op_kind {
    MAPPING_OP_UNKNOWN, /**< no such instruction: here the loop is left to the processor */
    MAPPING_OP_NOTHING,
    MAPPING_OP_LOAD, /**< the rest of the register becomes 0 */
    MAPPING_OP_LOAD_VECTOR,
    MAPPING_OP_STORE,
    MAPPING_OP_STORE_VECTOR,
    MAPPING_OP_MOVE,
    MAPPING_OP_ADDRESS, /**< the register gets the address, not what is there */
    MAPPING_OP_ADD,
    MAPPING_OP_SUBTRACT,
    MAPPING_OP_COMPARE,
    MAPPING_OP_AND,
    MAPPING_OP_TEST,
    MAPPING_OP_OR,
    MAPPING_OP_XOR,
    MAPPING_OP_INCREMENT,
    MAPPING_OP_DECREMENT,
    MAPPING_OP_BRANCH,
};

enum { MAPPING_OP_NONE = 0xff }; /* instead of a register: there is none */

enum { MAPPING_OP_ALWAYS = 16 }; /* beside the processor's 16 conditions */

struct mapping_op {
    uint8_t kind;      /**< enum mapping_op_kind */
    uint8_t length;    /**< bytes of the instruction */
    uint8_t width;     /**< bytes that it loads, stores or computes with */
    uint8_t target;    /**< register that gets a value */
    uint8_t source;    /**< register that has one; none: `value` is it */
    uint8_t base;      /**< of an address: register, or none */
    uint8_t index;     /**< the same, multiplied by `scale` */
    uint8_t scale;     /**< 1, 2, 4 or 8 */
    uint8_t condition; /**< of a branch */
    bool aligned;      /**< the address has to be a multiple of the width */
    bool keeps_upper;  /**< of a vector's load: what lies above stays, else it becomes 0 */
    int64_t offset;    /**< is added to an address */
    int64_t value;     /**< number; of a branch: where it goes */
    uintptr_t at;      /**< where it is */
};

/** The instruction at @p address, of which @p length bytes, or all, are at @p bytes. */
struct mapping_op mapping_loop_code(const uint8_t *bytes, size_t length, uintptr_t address);
