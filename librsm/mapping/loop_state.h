/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A loop of x86-64 that is being carried out: what loop_x86.c, which does it instruction by
 *  instruction, and loop_rounds_x86.c, which does many rounds at once, know of it. */
#pragma once

#include <string.h>

#include "mapping/loop.h"
#include "mapping/loop_code.h"
#include "mapping/loop_flags.h"
#include "mapping/loop_induction.h"

enum { MAPPING_LOOP_CODE = 512, MAPPING_LOOP_OPS = 128 }; /* bytes, instructions */
enum { MAPPING_LOOP_SOURCE = 32 * 1024 }; /* bytes that are read for loads at once */
enum { MAPPING_LOOP_VECTORS = 32, MAPPING_LOOP_VECTOR = 64 };

struct mapping_loop {
    /* The program's code, and what is known of it. It may change between two runs. */
    uintptr_t code_from;
    size_t code_length; /* bytes up to the end of what could be read */
    uint8_t code[MAPPING_LOOP_CODE];
    uint8_t op_at[MAPPING_LOOP_CODE]; /* which of ops begins there; 0: that was not looked up */
    struct mapping_op op[MAPPING_LOOP_OPS + 1]; /* first and those behind the last are not known */
    unsigned ops;

    /* What loads find: the memory at one moment. A later part replaces an earlier one as a whole,
     * so no load finds older memory than one before it. */
    uintptr_t source_from;
    size_t source_length;
    unsigned refills;
    uint8_t source[MAPPING_LOOP_SOURCE];

    uintptr_t at; /* the instruction to carry out next */
    uint64_t reg[16];
    struct mapping_flags flags;
    uint8_t vector[MAPPING_LOOP_VECTORS][MAPPING_LOOP_VECTOR];
    uint8_t vector_bytes[MAPPING_LOOP_VECTORS]; /* how much of it the frame has */
    uint32_t vectors_known, vectors_changed;    /* a bit for each */

    ucontext_t *context;
    struct mapping_loop_sink *sink;
    uint64_t stores;
    unsigned idle; /* instructions since the last one */

    /* Many rounds at once. */
    const struct mapping_op *branch; /* the one that was taken last */
    unsigned wait;                   /* so many times more before that is tried with it */
    struct mapping_induction induction;
};

/** The number of the instruction at @p at; 0: none that is known. */
uint8_t mapping_loop_op(struct mapping_loop *loop, uintptr_t at);

/** Memory [@p from, @p from + @p length) as a load finds it; NULL: it cannot be read here. */
const uint8_t *mapping_loop_load(struct mapping_loop *loop, uintptr_t from, size_t length);

/** Read it into @p into. Returns how much of it could be. */
size_t mapping_loop_read(struct mapping_loop *loop, uintptr_t from, void *into, size_t length);

/** What has been read last: from now on loads find this. */
void mapping_loop_has_read(struct mapping_loop *loop, uintptr_t from, const void *bytes,
                           size_t length);

/** A vector register's @p width bytes; NULL: the frame has not so much of it. */
uint8_t *mapping_loop_vector(struct mapping_loop *loop, unsigned number, size_t width);

/** Carry out one that is no branch. False: not this one, nothing has happened. */
bool mapping_loop_step(struct mapping_loop *loop, const struct mapping_op *op);

/** The branch @p op has been taken: carry out as many rounds as can be at once. Returns how many;
 *  the loop is where it was, as many rounds later. */
uint64_t mapping_loop_rounds(struct mapping_loop *loop, const struct mapping_op *op);

/** Where an instruction loads from or stores to. */
static inline uintptr_t mapping_loop_address(const uint64_t reg[16], const struct mapping_op *op)
{
    uint64_t address = (uint64_t)op->offset;
    if (op->base != MAPPING_OP_NONE)
        address += reg[op->base];
    if (op->index != MAPPING_OP_NONE)
        address += reg[op->index] * op->scale;
    return address;
}

static inline uint64_t mapping_loop_operand(const uint64_t reg[16], const struct mapping_op *op)
{
    return op->source != MAPPING_OP_NONE ? reg[op->source] : (uint64_t)op->value;
}

/** Of 1, 2, 4 or 8 bytes. The compiler makes a string instruction of a copy whose length it does
 *  not know, which takes longer than all the rest. */
static inline uint64_t mapping_loop_value(const uint8_t *from, size_t width)
{
    uint64_t value = *from;
    if (width == 8)
        memcpy(&value, from, 8);
    else if (width == 4)
        memcpy(&value, from, 4);
    else if (width == 2)
        memcpy(&value, from, 2);
    return width == 8 ? value : value & ((UINT64_C(1) << (width * 8)) - 1);
}
