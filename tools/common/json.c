/* SPDX-License-Identifier: BSD-3-Clause */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* The length of the well-formed UTF-8 character of two to four bytes at `text`, else 0. */
static size_t character(const unsigned char *text)
{
    unsigned char first = text[0];
    size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                    : first >= 0xe0 && first <= 0xef ? 3
                    : first >= 0xf0 && first <= 0xf4 ? 4
                                                     : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (first == 0xe0 && text[1] < 0xa0) || (first == 0xf0 && text[1] < 0x90);
    bool surrogate = first == 0xed && text[1] > 0x9f;
    bool beyond = first == 0xf4 && text[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : length;
}

static void write_string(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    fputc('"', out);
    while (*at != '\0') {
        size_t length = *at < 0x80 ? 1 : character(at);
        if (length == 0)
            fputs("\\ufffd", out); /* which stands for what is no character */
        else if (*at < 0x20 || *at == 0x7f)
            fprintf(out, "\\u%04x", (unsigned)*at);
        else if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else
            fwrite(at, 1, length, out);
        at += length == 0 ? 1 : length;
    }
    fputc('"', out);
}

static void begin_value(struct json *json, const char *key)
{
    if (json->comma)
        fputs(", ", json->out);
    json->comma = true;
    if (key == NULL)
        return;
    write_string(json->out, key);
    fputs(": ", json->out);
}

void json_open(struct json *json, const char *key, char kind)
{
    begin_value(json, key);
    fputc(kind, json->out);
    json->comma = false;
}

void json_close(struct json *json, char kind)
{
    fputc(kind == '{' ? '}' : ']', json->out);
    json->comma = true;
}

void json_string(struct json *json, const char *key, const char *text)
{
    begin_value(json, key);
    write_string(json->out, text);
}

void json_number(struct json *json, const char *key, uint64_t number)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRIu64, number);
}

void json_real(struct json *json, const char *key, double number)
{
    if (!isfinite(number)) {
        json_null(json, key);
        return;
    }
    begin_value(json, key);
    fprintf(json->out, "%.3f", number);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

void json_null(struct json *json, const char *key)
{
    begin_value(json, key);
    fputs("null", json->out);
}

void json_number_or_null(struct json *json, const char *key, uint64_t number)
{
    if (number == 0)
        json_null(json, key);
    else
        json_number(json, key, number);
}

void json_real_or_null(struct json *json, const char *key, double number)
{
    if (number > 0)
        json_real(json, key, number);
    else
        json_null(json, key);
}
