/* SPDX-License-Identifier: BSD-3-Clause */
/* The stores of SVE by which the C library copies: ST1B to ST1D if the active elements lie side by
 * side, and STR of a whole vector. */
#include "mapping/decode_arm64.h"

#include <string.h>

enum { NO_PREDICATE = 0 };

static bool is_active(const struct a64_scalable *value, size_t element, size_t element_bytes)
{
    size_t at = element * element_bytes;
    return (value->predicate[at / 8] >> at % 8 & 1) != 0;
}

/* The lowest @p length bytes of each element that is active, of which there is one stretch. The
 * first of it is stored behind those that are not. */
static bool add_elements(const struct a64_word *d, const struct a64_scalable *value,
                         size_t element_bytes, size_t length, uint64_t address)
{
    struct mapping_store *store = d->store;
    size_t count = value->length / element_bytes, first = 0;
    while (first < count && !is_active(value, first, element_bytes))
        first++;
    size_t end = first;
    for (; end < count && is_active(value, end, element_bytes); end++) {
        if (store->width + length > MAPPING_STORE_MAX)
            return false;
        memcpy(store->bytes + store->width, value->bytes + end * element_bytes, length);
        store->width += length;
    }
    a64_store_at(d, address + first * length);
    while (end < count && !is_active(value, end, element_bytes))
        end++;
    return end == count && store->width > 0;
}

/* The address is so many vectors away, or so many elements as another register says. */
static bool decode_elements(const struct a64_word *d, bool by_register)
{
    struct a64_scalable value;
    uint32_t word = d->word, scale = a64_bits(word, 24, 23), element_scale = a64_bits(word, 22, 21);
    unsigned index = a64_bits(word, 20, 16);
    if (element_scale < scale || (by_register && index == A64_ZERO) ||
        !a64_scalable_value(d->context, a64_bits(word, 4, 0), a64_bits(word, 12, 10), &value))
        return false;
    size_t stored = value.length >> (element_scale - scale); /* by a vector that is all active */
    uint64_t offset = by_register
                          ? a64_general(d->context, index) << scale
                          : (uint64_t)(a64_signed(a64_bits(word, 19, 16), 4) * (int64_t)stored);
    return add_elements(d, &value, (size_t)1 << element_scale, (size_t)1 << scale,
                        a64_base_value(d) + offset);
}

static bool decode_vector(const struct a64_word *d)
{
    struct a64_scalable value;
    uint32_t vectors = a64_bits(d->word, 21, 16) << 3 | a64_bits(d->word, 12, 10);
    if (!a64_scalable_value(d->context, a64_bits(d->word, 4, 0), NO_PREDICATE, &value) ||
        value.length > MAPPING_STORE_MAX)
        return false;
    memcpy(d->store->bytes, value.bytes, value.length);
    d->store->width = value.length;
    a64_store_at(d, a64_base_value(d) + (uint64_t)(a64_signed(vectors, 9) * (int64_t)value.length));
    return true;
}

bool a64_decode_scalable(const struct a64_word *d)
{
    if ((d->word & 0x0010e000) == 0x0000e000)
        return decode_elements(d, false);
    if ((d->word & 0x01c0e000) == 0x01804000)
        return decode_vector(d);
    return (d->word & 0x0000e000) == 0x00004000 && decode_elements(d, true);
}
