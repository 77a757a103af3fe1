/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace.h"

#define rsm_codec_u16    untraced_u16
#define rsm_codec_u32    untraced_u32
#define rsm_codec_u64    untraced_u64
#define rsm_codec_count  untraced_count
#define rsm_codec_bytes  untraced_bytes
#define rsm_codec_string untraced_string
#include "base/codec.c" /* NOLINT(bugprone-suspicious-include) */
#undef rsm_codec_u16
#undef rsm_codec_u32
#undef rsm_codec_u64
#undef rsm_codec_count
#undef rsm_codec_bytes
#undef rsm_codec_string

void rsm_codec_u16(struct rsm_codec *c, uint16_t *value);
void rsm_codec_u32(struct rsm_codec *c, uint32_t *value);
void rsm_codec_u64(struct rsm_codec *c, uint64_t *value);
void rsm_codec_count(struct rsm_codec *c, uint32_t *value, uint32_t most);
void rsm_codec_bytes(struct rsm_codec *c, void *bytes, size_t length);
void rsm_codec_string(struct rsm_codec *c, char *string, size_t capacity);

struct trace_field trace_fields[TRACE_FIELDS_MAX];
unsigned trace_count;
static const uint8_t *traced;

void trace_begin(const void *bytes)
{
    traced = bytes;
    trace_count = 0;
}

static void note(const struct rsm_codec *c, const uint8_t *from, enum trace_kind kind,
                 uint64_t value)
{
    if (!c->decode || c->bad || trace_count == TRACE_FIELDS_MAX)
        return;
    trace_fields[trace_count++] = (struct trace_field){.kind = kind,
                                                       .offset = (size_t)(from - traced),
                                                       .length = (size_t)(c->at - from),
                                                       .value = value};
}

void rsm_codec_u16(struct rsm_codec *c, uint16_t *value)
{
    const uint8_t *from = c->at;
    untraced_u16(c, value);
    note(c, from, TRACE_NUMBER, *value);
}

void rsm_codec_u32(struct rsm_codec *c, uint32_t *value)
{
    const uint8_t *from = c->at;
    untraced_u32(c, value);
    note(c, from, TRACE_NUMBER, *value);
}

void rsm_codec_u64(struct rsm_codec *c, uint64_t *value)
{
    const uint8_t *from = c->at;
    untraced_u64(c, value);
    note(c, from, TRACE_NUMBER, *value);
}

void rsm_codec_count(struct rsm_codec *c, uint32_t *value, uint32_t most)
{
    const uint8_t *from = c->at;
    untraced_count(c, value, most);
    note(c, from, TRACE_COUNT, *value);
}

void rsm_codec_bytes(struct rsm_codec *c, void *bytes, size_t length)
{
    const uint8_t *from = c->at;
    untraced_bytes(c, bytes, length);
    if (length > 0)
        note(c, from, TRACE_BYTES, 0);
}

void rsm_codec_string(struct rsm_codec *c, char *string, size_t capacity)
{
    const uint8_t *from = c->at;
    untraced_string(c, string, capacity);
    note(c, from, TRACE_STRING, 0);
}
