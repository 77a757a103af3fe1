/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/loop_flags.h"

enum {
    CARRY = 1 << 0,
    PARITY = 1 << 2,
    AUXILIARY = 1 << 4,
    ZERO = 1 << 6,
    SIGN = 1 << 7,
    OVERFLOW = 1 << 11,
    ALL = CARRY | PARITY | AUXILIARY | ZERO | SIGN | OVERFLOW,
};

void mapping_flags_set(struct mapping_flags *flags, uint64_t value)
{
    flags->known = value;
    flags->kind = MAPPING_OP_UNKNOWN;
}

static unsigned sign_of(const struct mapping_flags *flags, uint64_t value)
{
    return (unsigned)(value >> (flags->width * 8 - 1) & 1);
}

static uint64_t carry_of(const struct mapping_flags *flags)
{
    switch (flags->kind) {
    case MAPPING_OP_ADD:
        return flags->r < flags->a ? CARRY : 0;
    case MAPPING_OP_SUBTRACT:
    case MAPPING_OP_COMPARE:
        return flags->a < flags->b ? CARRY : 0;
    case MAPPING_OP_INCREMENT:
    case MAPPING_OP_DECREMENT:
        return flags->known & CARRY;
    default:
        return 0;
    }
}

/* Those of the lowest half byte, and of the sign. The operations of bits have none: what the
 * processor leaves in the former is not defined. */
static uint64_t overflows_of(const struct mapping_flags *flags)
{
    uint64_t a = flags->a, b = flags->b, r = flags->r;
    uint64_t auxiliary = (a ^ b ^ r) & AUXILIARY;
    switch (flags->kind) {
    case MAPPING_OP_ADD:
    case MAPPING_OP_INCREMENT:
        return auxiliary | (sign_of(flags, (a ^ r) & (b ^ r)) ? OVERFLOW : 0);
    case MAPPING_OP_SUBTRACT:
    case MAPPING_OP_COMPARE:
    case MAPPING_OP_DECREMENT:
        return auxiliary | (sign_of(flags, (a ^ b) & (a ^ r)) ? OVERFLOW : 0);
    default:
        return 0;
    }
}

uint64_t mapping_flags_get(struct mapping_flags *flags)
{
    if (flags->kind == MAPPING_OP_UNKNOWN)
        return flags->known;
    uint64_t value = flags->known & ~(uint64_t)ALL;
    value |= carry_of(flags) | overflows_of(flags);
    value |= flags->r == 0 ? ZERO : 0;
    value |= sign_of(flags, flags->r) ? SIGN : 0;
    value |= __builtin_parity((unsigned)(flags->r & 0xff)) ? 0 : PARITY;
    mapping_flags_set(flags, value);
    return value;
}

/* Conditions come in pairs, the second of which is the opposite of the first. What ends a loop of
 * stores is mostly one of those that need no flags. */
bool mapping_flags_hold(struct mapping_flags *flags, uint8_t condition)
{
    bool compared = flags->kind == MAPPING_OP_COMPARE || flags->kind == MAPPING_OP_SUBTRACT;
    if (condition == MAPPING_OP_ALWAYS)
        return true;
    if (condition / 2 == 2 && flags->kind != MAPPING_OP_UNKNOWN)
        return (flags->r == 0) != (condition % 2 != 0);
    if (condition / 2 == 1 && compared)
        return (flags->a < flags->b) != (condition % 2 != 0);
    if (condition / 2 == 3 && compared)
        return (flags->a <= flags->b) != (condition % 2 != 0);
    uint64_t value = mapping_flags_get(flags);
    bool differ = ((value & SIGN) != 0) != ((value & OVERFLOW) != 0);
    const bool of_pair[8] = {(value & OVERFLOW) != 0,
                             (value & CARRY) != 0,
                             (value & ZERO) != 0,
                             (value & (CARRY | ZERO)) != 0,
                             (value & SIGN) != 0,
                             (value & PARITY) != 0,
                             differ,
                             differ || (value & ZERO) != 0};
    return of_pair[condition / 2] != (condition % 2 != 0);
}
