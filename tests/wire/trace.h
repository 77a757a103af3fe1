/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The codec (base/codec.h) with a record of the fields that it walks, so that a recording
 * says what is where in a message without a second description of it. */
#ifndef TESTS_WIRE_TRACE_H
#define TESTS_WIRE_TRACE_H

#include <stddef.h>
#include <stdint.h>

enum { TRACE_FIELDS_MAX = 4096 };

enum trace_kind { TRACE_NUMBER, TRACE_COUNT, TRACE_BYTES, TRACE_STRING };

struct trace_field {
    enum trace_kind kind;
    size_t offset, length; /* in the message */
    uint64_t value;        /* of a number or a count */
};

extern struct trace_field trace_fields[TRACE_FIELDS_MAX];
extern unsigned trace_count;

/** Note from here on what a decoder of @p bytes walks. */
void trace_begin(const void *bytes);

#endif
