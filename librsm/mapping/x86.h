/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Instructions of x86-64, as decode_x86.c and loop_code_x86.c need them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <Zydis/Zydis.h>

struct mapping_x86_decoded {
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/** Index in gregs of each general register by its number in instructions. */
extern const int mapping_x86_greg[16];

/** The instruction that begins at @p bytes, of which @p length are there. */
ZyanStatus mapping_x86_decode(const void *bytes, size_t length,
                              struct mapping_x86_decoded *decoded);

/** Whether it moves a register's value, and does nothing else; to memory if that is its first
 *  operand. */
bool mapping_x86_is_plain_move(const ZydisDecodedInstruction *instruction);

/** Whether a mask register says which parts of a vector it moves. */
bool mapping_x86_is_masked(const ZydisDecodedInstruction *instruction);
