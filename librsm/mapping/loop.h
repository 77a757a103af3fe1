/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
 *  A program's loop that stores to a view, carried out by the engine instead of by the processor:
 *  one fault for many stores, each of which is seen. Async-signal-safe; callers hold the space's
 *  lock.
 *
 *  Only instructions are carried out that loops which copy or fill memory are made of, and only as
 *  long as they touch nothing but registers, memory that they read, and what they store to. At all
 *  others the loop is left to the processor, which finds everything as if it had come there by
 *  itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/** Takes the stores; the caller's own. */
struct mapping_loop_sink;

/** Take a store of @p length bytes, 64 at most; false: not this one, the loop ends before it. */
bool mapping_loop_take(struct mapping_loop_sink *sink, uintptr_t address, const void *bytes,
                       size_t length);

/** Where to put what is stored to [@p address, @p address + *@p length) by stores that go on where
 *  the last one ended, upward or @p down. *length becomes how much of it, from where they go on,
 *  there is room for. NULL: they have to be taken one by one. */
void *mapping_loop_room(struct mapping_loop_sink *sink, uintptr_t address, size_t *length,
                        bool down);

/** So many of these bytes have been put there, from where they go on. */
void mapping_loop_took(struct mapping_loop_sink *sink, size_t length);

/** Bytes of what it works with, which is zeroed before its first use; 0: loops cannot be carried
 *  out here. */
size_t mapping_loop_bytes(void);

struct mapping_loop;

/** What a run has come to. */
struct mapping_loop_run {
    uint64_t stores; /**< that were taken */
    bool cut;        /**< it ended at an instruction, or a store, that is not for here */
};

/** Go on from where @p context is, with a store. If any was taken @p context is behind the last
 *  instruction that was carried out. */
struct mapping_loop_run mapping_loop_run(struct mapping_loop *loop, ucontext_t *context,
                                         struct mapping_loop_sink *sink);
