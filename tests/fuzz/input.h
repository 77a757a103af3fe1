/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Reading decisions off the fuzzer's bytes. At their end everything is 0, so that every input is a
 * complete script and a shorter one a prefix of a longer one.
 */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include "../system.h"

struct input {
    const uint8_t *at;
    size_t left;
};

static inline bool input_ends(const struct input *in)
{
    return in->left == 0;
}

/** Up to @p most of the next bytes; how many there were. */
static inline size_t input_bytes(struct input *in, void *bytes, size_t most)
{
    size_t count = most < in->left ? most : in->left;
    if (count > 0)
        memcpy(bytes, in->at, count);
    in->at += count;
    in->left -= count;
    return count;
}

static inline uint8_t input_u8(struct input *in)
{
    uint8_t value = 0;
    input_bytes(in, &value, sizeof value);
    return value;
}

static inline uint64_t input_u64(struct input *in)
{
    uint64_t value = 0;
    input_bytes(in, &value, sizeof value);
    return value;
}

/** A number below @p end, which is 256 at most. */
static inline unsigned input_below(struct input *in, unsigned end)
{
    return input_u8(in) % end;
}

/** Mostly a small number, sometimes any, sometimes one at an edge. */
static inline uint64_t input_number(struct input *in)
{
    uint8_t form = input_u8(in);
    if (form < 0xe0)
        return form % 24;
    if (form < 0xf0)
        return input_u64(in);
    /* One more or less than a power of two. */
    uint64_t power = UINT64_C(1) << input_below(in, 64);
    return form < 0xf8 ? power + form % 2 : power - form % 2;
}

#endif
