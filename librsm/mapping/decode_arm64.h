/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Inside of the decoder for arm64: its instruction set is called A64. */
#pragma once

#include "mapping/decode.h"

/** What is being decoded. */
struct a64_word {
    const ucontext_t *context;
    uint32_t word;
    struct mapping_store *store;
};

enum { A64_STACK_POINTER = 31, A64_ZERO = 31 }; /* register 31: the one as a base, else the other */

/** The top byte of a pointer may be a tag; faults are reported without. */
#define A64_ADDRESS_MASK UINT64_C(0x00ffffffffffffff)

static inline uint32_t a64_bits(uint32_t word, unsigned high, unsigned low)
{
    return (word >> low) & ((UINT32_C(2) << (high - low)) - 1);
}

static inline bool a64_bit(uint32_t word, unsigned at)
{
    return (word >> at & 1) != 0;
}

/** @p value, which has @p width bits, with its sign. */
static inline int64_t a64_signed(uint32_t value, unsigned width)
{
    int64_t top = INT64_C(1) << (width - 1);
    return ((int64_t)value ^ top) - top;
}

static inline uint64_t a64_general(const ucontext_t *context, unsigned number)
{
    return number == A64_ZERO ? 0 : context->uc_mcontext.regs[number];
}

static inline unsigned a64_base(uint32_t word)
{
    return a64_bits(word, 9, 5);
}

static inline uint64_t a64_base_value(const struct a64_word *d)
{
    unsigned base = a64_base(d->word);
    return base == A64_STACK_POINTER ? d->context->uc_mcontext.sp
                                     : d->context->uc_mcontext.regs[base];
}

static inline void a64_store_at(const struct a64_word *d, uint64_t address)
{
    d->store->address = address & A64_ADDRESS_MASK;
}

/* ---- decode_sve.c */

/** Stores of the scalable vector extension (SVE), if the bytes that they store lie side by side. */
bool a64_decode_scalable(const struct a64_word *d);

/* ---- frame_arm64.c */

/** A scalable vector, and a predicate: a bit for each byte of the vector. */
struct a64_scalable {
    size_t length; /**< bytes of each vector, as the thread has them */
    const uint8_t *bytes, *predicate;
};

/** Vector @p number (0 to 31) and @p predicate (0 to 15). False: the frame does not have them. */
bool a64_scalable_value(const ucontext_t *context, unsigned number, unsigned predicate,
                        struct a64_scalable *value);
