/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/compare.h"

#include <stdbool.h>
#include <string.h>

/* Vectors of a size that every processor has that librsm runs on; the compiler chooses them. */
typedef uint8_t vector __attribute__((vector_size(16)));

enum { MEMCMP_BLOCK = 256, BLOCK = 4 * sizeof(vector), WORD = sizeof(uint64_t) };

/* The C library's memcmp() chooses its vectors at run time, and is as fast as memory is. */
size_t mapping_next_difference(const uint8_t *copy, const uint8_t *twin, size_t at, size_t end)
{
    while (at < end && at % WORD != 0 && copy[at] == twin[at])
        at++;
    if (at == end || copy[at] != twin[at])
        return at;
    while (at + MEMCMP_BLOCK <= end && memcmp(copy + at, twin + at, MEMCMP_BLOCK) == 0)
        at += MEMCMP_BLOCK;
    while (at + WORD <= end && memcmp(copy + at, twin + at, WORD) == 0)
        at += WORD;
    while (at < end && copy[at] == twin[at])
        at++;
    return at;
}

/* Whether all bytes of two blocks differ. */
static bool block_differs(const uint8_t *copy, const uint8_t *twin)
{
    vector equal = {0};
    uint64_t halves[2];
    for (size_t i = 0; i < BLOCK; i += sizeof(vector)) {
        vector a, b;
        memcpy(&a, copy + i, sizeof a);
        memcpy(&b, twin + i, sizeof b);
        equal |= (vector)(a == b);
    }
    memcpy(halves, &equal, sizeof halves);
    return (halves[0] | halves[1]) == 0;
}

/* The same of two words: no byte of their difference is zero. */
static bool word_differs(const uint8_t *copy, const uint8_t *twin)
{
    const uint64_t lowest = UINT64_C(0x0101010101010101), highest = lowest << 7;
    uint64_t a, b;
    memcpy(&a, copy, WORD);
    memcpy(&b, twin, WORD);
    uint64_t difference = a ^ b;
    return ((difference - lowest) & ~difference & highest) == 0;
}

size_t mapping_next_equality(const uint8_t *copy, const uint8_t *twin, size_t at, size_t end)
{
    while (at + BLOCK <= end && block_differs(copy + at, twin + at))
        at += BLOCK;
    while (at + WORD <= end && word_differs(copy + at, twin + at))
        at += WORD;
    while (at < end && copy[at] != twin[at])
        at++;
    return at;
}
