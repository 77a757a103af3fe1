/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A writer of JSON that cannot write anything else: commas, quotes and escapes are its own.
 */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *out;
    bool comma; /**< something precedes on this level */
};

/** Begin and end an object '{' or an array '['. @p key: NULL inside arrays and at the top. */
void json_open(struct json *json, const char *key, char kind);
void json_close(struct json *json, char kind);

void json_string(struct json *json, const char *key, const char *text);
void json_number(struct json *json, const char *key, uint64_t number);
/** With three decimals; null if it is not finite. */
void json_real(struct json *json, const char *key, double number);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
/** null for 0, which stands for what is not there. */
void json_number_or_null(struct json *json, const char *key, uint64_t number);
/** The same for what is not greater than 0. */
void json_real_or_null(struct json *json, const char *key, double number);

#endif
