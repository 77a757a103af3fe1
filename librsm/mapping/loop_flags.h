/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the processor's flags are after an operation. Most are never asked for, so they are
 *  computed when they are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mapping/loop_code.h"

struct mapping_flags {
    uint64_t known;   /**< the register, as it was before the operation */
    uint8_t kind;     /**< the operation that changes it, enum mapping_op_kind; or UNKNOWN: none */
    uint8_t width;    /**< bytes that it computed with */
    uint64_t a, b, r; /**< operands and result */
};

void mapping_flags_set(struct mapping_flags *flags, uint64_t value);
/** Value of the flags' register. */
uint64_t mapping_flags_get(struct mapping_flags *flags);
/** Whether a branch with that condition is taken. */
bool mapping_flags_hold(struct mapping_flags *flags, uint8_t condition);

/** The lowest @p width bytes, 4 or 8. */
static inline uint64_t mapping_flags_cut(uint64_t value, size_t width)
{
    return width == 8 ? value : value & UINT32_MAX;
}

/** An operation has had this result. */
static inline void mapping_flags_after(struct mapping_flags *flags, const struct mapping_op *op,
                                       uint64_t a, uint64_t b, uint64_t r)
{
    flags->kind = op->kind;
    flags->width = op->width;
    flags->a = mapping_flags_cut(a, op->width);
    flags->b = mapping_flags_cut(b, op->width);
    flags->r = mapping_flags_cut(r, op->width);
}
