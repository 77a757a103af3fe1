/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What bodies of messages are in memory: included before a list of them (bodies.def), and
 *  bodies_end.h behind it. Each BODY becomes a structure. */
/* clang-format off */
#define BODY(tag) struct tag {
#define END };
/* clang-format on */

/* Numbers. */
#define U32(field) uint32_t field;
#define U64(field) uint64_t field;

/* A number of at most so much. */
#define BOUNDED(field, max) uint32_t field;

/* Another BODY, or a structure that a header declares and proto.c walks. */
#define STRUCT(tag, field) struct tag field;

/* A string of less than `most` bytes. */
#define STRING(field, max) char field[max];

/* As many as `count` says, at most `most`, of structures, numbers and bytes. */
#define LIST(count, field, max, tag)                                                               \
    uint32_t count;                                                                                \
    struct tag field[max];
#define LIST_U32(count, field, max)                                                                \
    uint32_t count;                                                                                \
    uint32_t field[max];
#define DATA(count, field, max)                                                                    \
    uint32_t count;                                                                                \
    uint8_t field[max];

/* Always as many. */
#define ARRAY(field, many, tag) struct tag field[many];
#define ARRAY_U64(field, many)  uint64_t field[many];
#define ARRAY_U8(field, many)   uint8_t field[many];

/* An enum rsm_status that is known. ONLY_IF_OK: what follows travels only if it is RSM_ST_OK. */
#define STATUS(field) uint32_t field;
#define ONLY_IF_OK(field)
