/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What bodies of messages are in a packet: included before a list of them (bodies.def), and
 *  bodies_end.h behind it. Each BODY becomes walk_TAG(), which encodes or decodes one
 *  (base/codec.h). The kinds of fields are those of bodies_declare.h. */
#define BODY(tag)                                                                                  \
    static void walk_##tag(struct rsm_codec *c, void *body)                                        \
    {                                                                                              \
        struct tag *m = body;                                                                      \
        (void)c;                                                                                   \
        (void)m;
#define END }

#define U32(field)          rsm_codec_u32(c, &m->field);
#define U64(field)          rsm_codec_u64(c, &m->field);
#define BOUNDED(field, max) rsm_codec_count(c, &m->field, max);
#define STRUCT(tag, field)  walk_##tag(c, &m->field);
#define STRING(field, max)  rsm_codec_string(c, m->field, max);

#define LIST(count, field, max, tag)                                                               \
    rsm_codec_count(c, &m->count, max);                                                            \
    for (uint32_t i = 0; i < m->count; i++)                                                        \
        walk_##tag(c, &m->field[i]);
#define LIST_U32(count, field, max)                                                                \
    rsm_codec_count(c, &m->count, max);                                                            \
    for (uint32_t i = 0; i < m->count; i++)                                                        \
        rsm_codec_u32(c, &m->field[i]);
#define DATA(count, field, max)                                                                    \
    rsm_codec_count(c, &m->count, max);                                                            \
    rsm_codec_bytes(c, m->field, m->count);

#define ARRAY(field, many, tag)                                                                    \
    for (uint32_t i = 0; i < (many); i++)                                                          \
        walk_##tag(c, &m->field[i]);
#define ARRAY_U64(field, many)                                                                     \
    for (uint32_t i = 0; i < (many); i++)                                                          \
        rsm_codec_u64(c, &m->field[i]);
#define ARRAY_U8(field, many) rsm_codec_bytes(c, m->field, many);

#define STATUS(field)                                                                              \
    rsm_codec_u32(c, &m->field);                                                                   \
    c->bad |= !rsmcore_status_known(m->field);
#define ONLY_IF_OK(field)                                                                          \
    if (m->field != RSM_ST_OK)                                                                     \
        return;
