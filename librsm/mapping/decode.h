/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What a store instruction that was refused would have stored. Async-signal-safe.
 *
 *  It need not know every instruction: what it does not, gets a twin. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#ifndef MAPPING_HAS_DECODER
#define MAPPING_HAS_DECODER 0
#endif

enum { MAPPING_STORE_MAX = 64 }; /* bytes that one instruction stores at most */

struct mapping_store {
    uintptr_t address;                /**< where the store begins */
    size_t width;                     /**< bytes of one element, 1 to MAPPING_STORE_MAX */
    uint8_t bytes[MAPPING_STORE_MAX]; /**< what an element gets, where source is 0 */
    uintptr_t source;                 /**< of string moves: where the elements come from */
    uint64_t elements;                /**< 1, or what a repeated instruction still has to do */
    bool string;                      /**< there may be several elements, one behind the other */
    bool repeated;                    /**< it ends when the count register is 0 */
    bool advances;                    /**< the instruction gives register base a new value */
    unsigned base;                    /**< the processor's number for that register */
    uint64_t advanced;                /**< the value */
    unsigned instruction;             /**< bytes of the instruction */
};

/** The store at which @p context stopped because of @p fault. False: the decoder has none, does not
 *  know the instruction, or it does more than store (locked, read-modify-write, push...). */
bool mapping_decode(const ucontext_t *context, uintptr_t fault, struct mapping_store *store);

/** Where the instruction is that the thread goes on with. */
uintptr_t mapping_instruction(const ucontext_t *context);

/** Go on as if @p elements of the store had been executed. */
void mapping_retire(ucontext_t *context, const struct mapping_store *store, uint64_t elements);

/** Whether the instruction claims to read and write in one go: locked and exchanging ones, stores
 *  of exclusive pairs, operations of memory. */
bool mapping_is_atomic(const ucontext_t *context);

/** Whether the fault was a store. If the processor does not report that: @p guess. */
bool mapping_is_store(const ucontext_t *context, bool guess);

/* ---- frame_x86.c, frame_arm64.c */

/** The lowest @p length bytes (16, 32, 64 or less) of vector register @p number (0 to 31). False:
 *  the frame does not have it. */
bool mapping_vector_value(const ucontext_t *context, unsigned number, size_t length,
                          uint8_t *bytes);

/** All of it, 64 bytes: what the frame does not have is 0. Returns how many it has: 16, 32 or 64;
 *  0: none of this register. x86-64 only, as is the next. */
size_t mapping_vector_whole(const ucontext_t *context, unsigned number, uint8_t *bytes);

/** Give the register these bytes; @p length is what mapping_vector_whole() returned. */
void mapping_vector_change(ucontext_t *context, unsigned number, size_t length,
                           const uint8_t *bytes);

/** Ask the processor where its frame keeps what; once, before the first use. */
void mapping_vector_init(void);
