/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Bodies of messages that are noise, but within bounds: included before a list of them
 *  (protocol/bodies.def), and protocol/bodies_end.h behind it. Each BODY becomes fill_TAG(), for a
 *  body whose bytes are noise already: it corrects what has bounds of its own. The kinds of fields
 *  are those of protocol/bodies_declare.h. */
#include <stdint.h>

/* A repeatable source of noise: the failing case can be run again. */
static uint32_t noise_state;

static uint32_t noise(void)
{
    noise_state = noise_state * 1664525u + 1013904223u;
    return noise_state >> 8;
}

static void some_string(char *into, uint32_t most)
{
    uint32_t length = noise() % most;
    for (uint32_t i = 0; i < length; i++)
        into[i] = (char)('a' + noise() % 26);
    into[length] = '\0';
}

#define BODY(tag)                                                                                  \
    static void fill_##tag(void *body)                                                             \
    {                                                                                              \
        struct tag *m = body;                                                                      \
        (void)m;
#define END }

#define U32(field)
#define U64(field)
#define STRUCT(tag, field)  fill_##tag(&m->field);
#define STRING(field, most) some_string(m->field, most);

#define LIST(count, field, most, tag)                                                              \
    m->count %= (most) + 1;                                                                        \
    for (uint32_t i = 0; i < m->count; i++)                                                        \
        fill_##tag(&m->field[i]);
#define LIST_U32(count, field, most) m->count %= (most) + 1;
#define DATA(count, field, most)     m->count %= (most) + 1;

#define ARRAY(field, many, tag)                                                                    \
    for (uint32_t i = 0; i < (many); i++)                                                          \
        fill_##tag(&m->field[i]);
#define ARRAY_U64(field, many)
#define ARRAY_U8(field, many)

#define STATUS(field) m->field = noise() % 4 != 0 ? RSM_ST_OK : RSM_ST_NO_RESOURCES;
#define ONLY_IF_OK(field)
