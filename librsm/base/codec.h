/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A bounded little-endian codec that walks a message once, for writing or for reading.
 *
 *  One function describes the fields of a message; run on an encoder it writes them, run on a
 *  decoder it reads them. Both directions therefore cannot disagree. An encoder leaves the message
 *  alone, but for a count that is out of bounds, which becomes 0. The first field that does not
 *  fit, or that holds an impossible count, makes the codec `bad`; every later step does nothing.
 *  Decoded values are never used for addressing here: counts are checked against the capacity of
 *  the place they go to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rsm_codec {
    uint8_t *at;
    size_t left;
    bool decode;
    bool bad;
    /** Of the format, where one side may be older: a walk leaves out the fields that a version does
     *  not have yet. 0 where both sides are of one version. */
    uint32_t version;
};

/** A codec that writes into @p buffer. */
struct rsm_codec rsm_encoder(void *buffer, size_t capacity);
/** A codec that reads @p length bytes of @p buffer; it never writes there. */
struct rsm_codec rsm_decoder(const void *buffer, size_t length);

void rsm_codec_u16(struct rsm_codec *c, uint16_t *value);
void rsm_codec_u32(struct rsm_codec *c, uint32_t *value);
void rsm_codec_u64(struct rsm_codec *c, uint64_t *value);

/** A count of things that follow, at most @p most. After a failure *value is 0. */
void rsm_codec_count(struct rsm_codec *c, uint32_t *value, uint32_t max);

/** Exactly @p length raw bytes. */
void rsm_codec_bytes(struct rsm_codec *c, void *bytes, size_t length);

/** A NUL-terminated string in an array of @p capacity bytes: length, then the bytes without NUL.
 *  Embedded NULs are refused. */
void rsm_codec_string(struct rsm_codec *c, char *string, size_t capacity);
