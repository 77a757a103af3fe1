/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/codec.h"

#include <string.h>

struct rsm_codec rsm_encoder(void *buffer, size_t capacity)
{
    return (struct rsm_codec){.at = buffer, .left = capacity};
}

struct rsm_codec rsm_decoder(const void *buffer, size_t length)
{
    /* The cast is safe: a decoder only reads through `at`. */
    return (struct rsm_codec){.at = (uint8_t *)(uintptr_t)buffer, .left = length, .decode = true};
}

/* The next `length` bytes, or NULL with the codec gone bad. */
static uint8_t *advance(struct rsm_codec *c, size_t length)
{
    if (c->bad || length > c->left) {
        c->bad = true;
        return NULL;
    }
    uint8_t *here = c->at;
    c->at += length;
    c->left -= length;
    return here;
}

static uint64_t integer(struct rsm_codec *c, uint64_t value, size_t width)
{
    uint8_t *here = advance(c, width);
    if (here == NULL)
        return c->decode ? 0 : value;
    if (!c->decode) {
        for (size_t i = 0; i < width; i++)
            here[i] = (uint8_t)(value >> (8 * i));
        return value;
    }
    value = 0;
    for (size_t i = 0; i < width; i++)
        value |= (uint64_t)here[i] << (8 * i);
    return value;
}

void rsm_codec_u16(struct rsm_codec *c, uint16_t *value)
{
    uint64_t walked = integer(c, *value, 2);
    if (c->decode)
        *value = (uint16_t)walked;
}

void rsm_codec_u32(struct rsm_codec *c, uint32_t *value)
{
    uint64_t walked = integer(c, *value, 4);
    if (c->decode)
        *value = (uint32_t)walked;
}

void rsm_codec_u64(struct rsm_codec *c, uint64_t *value)
{
    uint64_t walked = integer(c, *value, 8);
    if (c->decode)
        *value = walked;
}

void rsm_codec_count(struct rsm_codec *c, uint32_t *value, uint32_t max)
{
    rsm_codec_u32(c, value);
    if (c->bad || *value > max) {
        c->bad = true;
        *value = 0;
    }
}

void rsm_codec_bytes(struct rsm_codec *c, void *bytes, size_t length)
{
    uint8_t *here = advance(c, length);
    if (here == NULL || length == 0)
        return;
    if (c->decode)
        memcpy(bytes, here, length);
    else
        memcpy(here, bytes, length);
}

void rsm_codec_string(struct rsm_codec *c, char *string, size_t capacity)
{
    uint32_t length = c->decode ? 0 : (uint32_t)strnlen(string, capacity);
    rsm_codec_count(c, &length, (uint32_t)(capacity - 1));
    if (c->decode)
        memset(string, 0, capacity);
    rsm_codec_bytes(c, string, length);
    if (c->decode && !c->bad && memchr(string, 0, length) != NULL && length > 0) {
        c->bad = true;
        string[0] = '\0';
    }
}
