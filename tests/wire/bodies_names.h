/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the fields of bodies are called: included before a list of them (protocol/bodies.def),
 *  and protocol/bodies_end.h behind it. Each BODY becomes fields_TAG[]. The kinds of fields are
 *  those of protocol/bodies_declare.h. */
/* clang-format off */
#define BODY(tag) static const struct body_field fields_##tag[] = {
#define END {.name = NULL}};
#define ONE(field_)                  {.name = #field_, .many = 1},
#define U32(field)                   ONE(field)
#define U64(field)                   ONE(field)
#define STRING(field, most)          ONE(field)
#define STATUS(field)                ONE(field)
#define ARRAY_U8(field, many)        ONE(field)
#define STRUCT(tag, field)           {.name = #field, .many = 1, .of = fields_##tag},
#define LIST(count, field, most, tag) ONE(count) {.name = #field, .how = COUNTED, .of = fields_##tag},
#define LIST_U32(count, field, most) ONE(count) {.name = #field, .how = COUNTED},
#define DATA(count, field, most)     ONE(count) {.name = #field, .how = IF_ANY},
#define ARRAY(field, many_, tag)     {.name = #field, .many = (many_), .of = fields_##tag},
#define ARRAY_U64(field, many_)      {.name = #field, .many = (many_)},
#define ONLY_IF_OK(field)            {.name = #field, .how = IF_OK},
/* clang-format on */
