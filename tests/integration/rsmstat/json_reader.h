/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A strict reader of JSON (RFC 8259), for what the tools write. */
#ifndef TESTS_RSMSTAT_JSON_READER_H
#define TESTS_RSMSTAT_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_REAL,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json_value {
    enum json_kind kind;
    bool truth;
    uint64_t number; /**< whole and not negative: negative ones are refused */
    double real;     /**< JSON_REAL: with a fraction; exponents are refused */
    char *string;    /**< UTF-8 */
    char *key;       /**< inside an object */
    struct json_value *first, *next;
};

/** Parse one value with nothing behind it but one newline. NULL: *where tells the byte at which it
 *  stops to be JSON, or says a key twice. To be freed by json_free(). */
struct json_value *json_parse(const char *text, size_t length, size_t *where);
void json_free(struct json_value *value);

/** The member of an object, the element of an array; NULL if there is none. */
const struct json_value *json_member(const struct json_value *object, const char *key);
const struct json_value *json_element(const struct json_value *array, size_t index);
size_t json_count(const struct json_value *container);

#endif
