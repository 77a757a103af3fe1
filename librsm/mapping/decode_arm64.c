/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores are few and regular on arm64: those of this file and of decode_sve.c are all that
 * compilers and the C library use. Names and bits are those of the Arm Architecture Reference
 * Manual, "Loads and stores".
 *
 * A store-exclusive is never done here. Only the processor's monitor knows whether it may store,
 * and a fault clears the monitor. The page gets a twin, and the program's loop tries again. */
#include "mapping/decode_arm64.h"

#include <string.h>

enum { INSTRUCTION = 4 };
enum { QUAD_SCALE = 4, QUAD_BYTES = 16 };

static void advance_base(const struct a64_word *d, uint64_t by)
{
    d->store->advances = true;
    d->store->base = a64_base(d->word);
    d->store->advanced = a64_base_value(d) + by;
}

/* The next bytes of what is stored: the lowest of a register. */
static bool add(const struct a64_word *d, bool vector, unsigned number, size_t length)
{
    struct mapping_store *store = d->store;
    uint8_t *into = store->bytes + store->width;
    if (length > MAPPING_STORE_MAX - store->width)
        return false;
    store->width += length;
    if (vector)
        return mapping_vector_value(d->context, number, length, into);
    uint64_t value = a64_general(d->context, number);
    memcpy(into, &value, length);
    return true;
}

/* ---------------------------------------------------------------- one register, two registers */

/* By a signed offset: of the address alone, or of the base as well, before or after. */
enum indexing { OFFSET = 0, POST = 1, PRE = 3 };

/* If the base is one of the registers that are stored, the architecture does not say which of its
 * values is. */
static bool index_by(const struct a64_word *d, unsigned indexing, uint64_t offset,
                     bool base_is_data)
{
    a64_store_at(d, a64_base_value(d) + (indexing == POST ? 0 : offset));
    if (indexing == OFFSET)
        return true;
    advance_base(d, offset);
    return !base_is_data;
}

static bool base_is(const struct a64_word *d, bool vector, unsigned number)
{
    return !vector && number == a64_base(d->word) && number != A64_STACK_POINTER;
}

static uint64_t extended(const struct a64_word *d)
{
    uint64_t value = a64_general(d->context, a64_bits(d->word, 20, 16));
    bool whole = a64_bit(d->word, 13), with_sign = a64_bit(d->word, 15);
    if (whole)
        return value;
    return with_sign ? (uint64_t)(int64_t)(int32_t)value : (uint64_t)(uint32_t)value;
}

/* STR, STRB, STRH, STUR, STTR and their kin. Loads have another opc. */
static bool decode_register(const struct a64_word *d)
{
    uint32_t word = d->word, size = a64_bits(word, 31, 30), opc = a64_bits(word, 23, 22);
    bool vector = a64_bit(word, 26), quad = vector && size == 0 && opc == 2;
    unsigned scale = quad ? QUAD_SCALE : size, target = a64_bits(word, 4, 0);
    if (!(opc == 0 || quad) || !add(d, vector, target, (size_t)1 << scale))
        return false;
    if (a64_bit(word, 24)) { /* a multiple of the size, without sign */
        a64_store_at(d, a64_base_value(d) + ((uint64_t)a64_bits(word, 21, 10) << scale));
        return true;
    }
    uint32_t form = a64_bits(word, 11, 10);
    if (a64_bit(word, 21)) { /* another register; what else there is, is atomic */
        a64_store_at(d, a64_base_value(d) + (extended(d) << (a64_bit(word, 12) ? scale : 0)));
        return form == 2 && a64_bit(word, 14);
    }
    if (form == 2) /* as if unprivileged, which this is */
        return !vector &&
               index_by(d, OFFSET, (uint64_t)a64_signed(a64_bits(word, 20, 12), 9), false);
    return index_by(d, form, (uint64_t)a64_signed(a64_bits(word, 20, 12), 9),
                    base_is(d, vector, target));
}

/* STP, STNP. */
static bool decode_pair(const struct a64_word *d)
{
    uint32_t word = d->word, opc = a64_bits(word, 31, 30), form = a64_bits(word, 24, 23);
    bool vector = a64_bit(word, 26), load = a64_bit(word, 22);
    unsigned first = a64_bits(word, 4, 0), second = a64_bits(word, 14, 10);
    unsigned scale = vector ? 2 + opc : opc == 0 ? 2 : 3;
    size_t length = (size_t)1 << scale;
    if (load || (vector ? opc == 3 : opc == 1 || opc == 3))
        return false;
    uint64_t offset = (uint64_t)a64_signed(a64_bits(word, 21, 15), 7) << scale;
    return add(d, vector, first, length) && add(d, vector, second, length) &&
           index_by(d, (form & 1) == 0 ? OFFSET : form, offset,
                    base_is(d, vector, first) || base_is(d, vector, second));
}

/* STLR, STLLR, and STLUR with an offset. All trapped stores come after those before them. */
static bool decode_release(const struct a64_word *d)
{
    uint64_t offset = a64_bit(d->word, 24) ? (uint64_t)a64_signed(a64_bits(d->word, 20, 12), 9) : 0;
    a64_store_at(d, a64_base_value(d) + offset);
    return add(d, false, a64_bits(d->word, 4, 0), (size_t)1 << a64_bits(d->word, 31, 30));
}

/* ---------------------------------------------------------------- several vectors */

/* Behind them the base advances by their length, or by a register. */
static bool structures_at(const struct a64_word *d)
{
    unsigned by = a64_bits(d->word, 20, 16);
    a64_store_at(d, a64_base_value(d));
    if (a64_bit(d->word, 23))
        advance_base(d, by == A64_ZERO ? d->store->width : a64_general(d->context, by));
    return a64_bit(d->word, 23) || by == 0;
}

/* Element @p index of vector @p number. */
static bool add_element(const struct a64_word *d, unsigned number, size_t index, size_t length)
{
    uint8_t whole[QUAD_BYTES];
    struct mapping_store *store = d->store;
    if (length > MAPPING_STORE_MAX - store->width ||
        !mapping_vector_value(d->context, number % 32, sizeof whole, whole))
        return false;
    memcpy(store->bytes + store->width, whole + index * length, length);
    store->width += length;
    return true;
}

/* ST1 of up to four vectors, and ST2 to ST4, which interleave their elements. */
static bool decode_structures(const struct a64_word *d)
{
    static const uint8_t vectors[16] = {
        [0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2};
    uint32_t opcode = a64_bits(d->word, 15, 12), size = a64_bits(d->word, 11, 10);
    unsigned first = a64_bits(d->word, 4, 0), count = vectors[opcode];
    size_t whole = a64_bit(d->word, 30) ? QUAD_BYTES : QUAD_BYTES / 2, length = (size_t)1 << size;
    bool in_turn = opcode % 4 == 0;
    bool known = count > 0 && !(in_turn && length == whole);
    for (unsigned i = 0; known && !in_turn && i < count; i++)
        known = add(d, true, (first + i) % 32, whole);
    for (size_t e = 0; known && in_turn && e < whole / length; e++)
        for (unsigned i = 0; known && i < count; i++)
            known = add_element(d, first + i, e, length);
    return known && structures_at(d);
}

/* One element each of one to four vectors. */
static bool decode_lane(const struct a64_word *d)
{
    uint32_t opcode = a64_bits(d->word, 15, 13), size = a64_bits(d->word, 11, 10);
    unsigned first = a64_bits(d->word, 4, 0), scale = opcode / 2;
    unsigned count = 1 + a64_bit(d->word, 21) + 2 * (opcode & 1);
    uint32_t index = a64_bit(d->word, 30) * 8u + a64_bits(d->word, 12, 10);
    bool known = scale < 3 && !(scale == 1 && (size & 1) != 0) && !(scale == 2 && size > 1) &&
                 !(scale == 2 && size == 1 && a64_bit(d->word, 12));
    if (scale == 2 && size == 1)
        scale = 3;
    for (unsigned i = 0; known && i < count; i++)
        known = add_element(d, first + i, index >> scale, (size_t)1 << scale);
    return known && structures_at(d);
}

/* ---------------------------------------------------------------- zeros */

/* DC ZVA, by which memset() clears. The block has no more than 2 KiB. */
static bool decode_zeros(const struct a64_word *d)
{
    uint64_t size;
    __asm__("mrs %0, dczid_el0" : "=r"(size));
    size_t block = (size_t)4 << (size & 0xf);
    struct mapping_store *store = d->store;
    store->width = block < MAPPING_STORE_MAX ? block : MAPPING_STORE_MAX;
    store->elements = block / store->width;
    store->string = store->elements > 1;
    a64_store_at(d, a64_general(d->context, a64_bits(d->word, 4, 0)) & ~(uint64_t)(block - 1));
    return true;
}

/* ---------------------------------------------------------------- all of them */

static const struct form {
    uint32_t mask, value;
    bool (*decode)(const struct a64_word *decoded);
} forms[] = {
    {0x3a000000, 0x38000000, decode_register},   {0x3a000000, 0x28000000, decode_pair},
    {0x3fe00000, 0x08800000, decode_release}, /* STLR, STLLR */
    {0x3fe00c00, 0x19000000, decode_release}, /* STLUR */
    {0xbf600000, 0x0c000000, decode_structures}, {0xbf400000, 0x0d000000, decode_lane},
    {0xffffffe0, 0xd50b7420, decode_zeros},      {0xfe000000, 0xe4000000, a64_decode_scalable},
};

static uint32_t word_at(const ucontext_t *context)
{
    uint32_t word;
    memcpy(&word, (const void *)(uintptr_t)context->uc_mcontext.pc, sizeof word);
    return word;
}

static bool decode(const struct a64_word *decoded)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if ((decoded->word & forms[i].mask) == forms[i].value)
            return forms[i].decode(decoded);
    return false;
}

bool mapping_decode(const ucontext_t *context, uintptr_t fault, struct mapping_store *store)
{
    memset(store, 0, sizeof *store);
    store->elements = 1;
    store->instruction = INSTRUCTION;
    struct a64_word decoded = {.context = context, .word = word_at(context), .store = store};
    return decode(&decoded) && fault >= store->address &&
           fault - store->address < store->elements * store->width;
}

/* Exclusives, compare-and-swap, and the operations of memory. */
bool mapping_is_atomic(const ucontext_t *context)
{
    uint32_t word = word_at(context);
    bool exclusive = (word & 0x3fe00000) == 0x08000000 || (word & 0xbfe00000) == 0x88200000;
    bool compare = (word & 0x3fa00000) == 0x08a00000 || (word & 0xbfa00000) == 0x08200000;
    bool operation = (word & 0x3f200c00) == 0x38200000;
    return exclusive || compare || operation;
}

uintptr_t mapping_instruction(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.pc;
}

void mapping_retire(ucontext_t *context, const struct mapping_store *store, uint64_t elements)
{
    if (elements != store->elements)
        return;
    context->uc_mcontext.pc += store->instruction;
    if (!store->advances)
        return;
    if (store->base == A64_STACK_POINTER)
        context->uc_mcontext.sp = store->advanced;
    else
        context->uc_mcontext.regs[store->base] = store->advanced;
}
