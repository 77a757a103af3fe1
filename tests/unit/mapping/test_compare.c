/* SPDX-License-Identifier: BSD-3-Clause */
/* The comparison of pages, beside the same byte by byte. */
#include "cases.h"

#include "mapping/compare.h"

enum { BYTES = 700, ROUNDS = 3000 };

static uint8_t copy[BYTES], twin[BYTES];
static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static size_t first(bool differs, size_t at, size_t end)
{
    while (at < end && (copy[at] != twin[at]) != differs)
        at++;
    return at;
}

static void compare(size_t at, size_t end)
{
    assert_int_equal(mapping_next_difference(copy, twin, at, end), first(true, at, end));
    assert_int_equal(mapping_next_equality(copy, twin, at, end), first(false, at, end));
}

/* Make a stretch equal or different in every byte. */
static void paint(bool differs, size_t from, size_t length)
{
    for (size_t i = from; i < from + length && i < BYTES; i++)
        twin[i] = differs ? (uint8_t)(copy[i] ^ (1 + draw(255))) : copy[i];
}

TEST_ALONE(one_byte_anywhere)
{
    for (unsigned differs = 0; differs < 2; differs++)
        for (size_t at = 0; at < BYTES; at++) {
            paint(!differs, 0, BYTES);
            paint(differs, at, 1);
            for (size_t from = at > 70 ? at - 70 : 0; from <= at + 1; from++)
                compare(from, BYTES);
            compare(0, at);
            compare(0, at + 1);
        }
}

TEST_ALONE(stretches)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < BYTES; i++)
            copy[i] = (uint8_t)draw(256);
        paint(draw(2) != 0, 0, BYTES);
        for (unsigned i = draw(8); i > 0; i--)
            paint(draw(2) != 0, draw(BYTES), 1 + draw(200));
        size_t end = draw(BYTES + 1);
        compare(end > 0 ? draw((uint32_t)end) : 0, end);
        compare(0, BYTES);
    }
}
