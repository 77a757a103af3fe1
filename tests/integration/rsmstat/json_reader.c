/* SPDX-License-Identifier: BSD-3-Clause */
#include "json_reader.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 16 };

struct reader {
    const char *at, *end;
    int depth;
};

static bool value(struct reader *r, struct json_value *into);

static bool next_is(struct reader *r, char c)
{
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static void blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
}

static bool word(struct reader *r, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, text, length) != 0)
        return false;
    r->at += length;
    return true;
}

static bool number(struct reader *r, uint64_t *into)
{
    const char *start = r->at;
    *into = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        if (__builtin_mul_overflow(*into, (uint64_t)10, into) ||
            __builtin_add_overflow(*into, (uint64_t)(*r->at - '0'), into))
            return false;
    return r->at > start && (*start != '0' || r->at == start + 1);
}

/* What follows the whole part, if that is a fraction. */
static bool fraction(struct reader *r, struct json_value *into)
{
    double digit = 1;
    if (!next_is(r, '.'))
        return true;
    const char *start = r->at;
    into->kind = JSON_REAL;
    into->real = (double)into->number;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        into->real += (*r->at - '0') * (digit /= 10);
    return r->at > start;
}

/* \uXXXX below the surrogates, the only ones that are expected. */
static bool unicode(struct reader *r, char **to)
{
    unsigned code = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = r->at < r->end && *r->at != '\0' ? strchr(digits, *r->at) : NULL;
        if (digit == NULL)
            return false;
        code = code * 16 + (unsigned)(digit - digits);
        r->at++;
    }
    if (code == 0 || (code >= 0xd800 && code <= 0xdfff))
        return false;
    if (code < 0x80) {
        *(*to)++ = (char)code;
    } else if (code < 0x800) {
        *(*to)++ = (char)(0xc0 | code >> 6);
        *(*to)++ = (char)(0x80 | (code & 0x3f));
    } else {
        *(*to)++ = (char)(0xe0 | code >> 12);
        *(*to)++ = (char)(0x80 | (code >> 6 & 0x3f));
        *(*to)++ = (char)(0x80 | (code & 0x3f));
    }
    return true;
}

static bool escape(struct reader *r, char **to)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (next_is(r, 'u'))
        return unicode(r, to);
    const char *name = r->at < r->end && *r->at != '\0' ? strchr(names, *r->at) : NULL;
    if (name == NULL)
        return false;
    *(*to)++ = meanings[name - names];
    r->at++;
    return true;
}

/* One character as it is: ASCII, or the first byte of a sequence and its followers. Overlong forms
 * and the like are mbrtowc()'s to know; what matters here is that bytes are no garbage. */
static bool plain(struct reader *r, char **to)
{
    unsigned char first = (unsigned char)*r->at;
    int followers = first < 0x80                    ? 0
                    : first >= 0xc2 && first < 0xe0 ? 1
                    : first >= 0xe0 && first < 0xf0 ? 2
                    : first >= 0xf0 && first < 0xf5 ? 3
                                                    : -1;
    if (first < 0x20 || first == 0x7f || followers < 0 || r->end - r->at <= followers)
        return false;
    *(*to)++ = *r->at++;
    for (; followers > 0; followers--) {
        if (((unsigned char)*r->at & 0xc0) != 0x80)
            return false;
        *(*to)++ = *r->at++;
    }
    return true;
}

/* Room enough for the string at hand: no escape is shorter than what it means. */
static size_t room(const struct reader *r)
{
    const char *c = r->at;
    while (c < r->end && *c != '"')
        c += *c == '\\' ? 2 : 1;
    return (size_t)(c - r->at) + 1;
}

static bool string(struct reader *r, char **into)
{
    if (!next_is(r, '"'))
        return false;
    char *to = *into = malloc(room(r));
    if (to == NULL)
        return false;
    while (!next_is(r, '"')) {
        if (r->at == r->end || !(next_is(r, '\\') ? escape(r, &to) : plain(r, &to)))
            return false;
    }
    *to = '\0';
    return true;
}

static bool is_known(const struct json_value *object, const struct json_value *member)
{
    for (const struct json_value *v = object->first; v != NULL; v = v->next)
        if (v != member && v->key != NULL && strcmp(v->key, member->key) == 0)
            return true;
    return false;
}

static bool members(struct reader *r, struct json_value *into, char end)
{
    struct json_value **last = &into->first;
    blanks(r);
    if (next_is(r, end))
        return true;
    do {
        struct json_value *member = calloc(1, sizeof *member);
        if (member == NULL)
            return false;
        *last = member;
        last = &member->next;
        blanks(r);
        if (end == '}') {
            if (!string(r, &member->key) || is_known(into, member))
                return false;
            blanks(r);
            if (!next_is(r, ':'))
                return false;
            blanks(r);
        }
        if (!value(r, member))
            return false;
        blanks(r);
    } while (next_is(r, ','));
    return next_is(r, end);
}

static bool value(struct reader *r, struct json_value *into)
{
    if (r->at == r->end || ++r->depth > DEPTH_MAX)
        return false;
    bool well;
    if (next_is(r, '{')) {
        into->kind = JSON_OBJECT;
        well = members(r, into, '}');
    } else if (next_is(r, '[')) {
        into->kind = JSON_ARRAY;
        well = members(r, into, ']');
    } else if (*r->at == '"') {
        into->kind = JSON_STRING;
        well = string(r, &into->string);
    } else if (*r->at == 't' || *r->at == 'f') {
        into->kind = JSON_BOOL;
        into->truth = *r->at == 't';
        well = word(r, into->truth ? "true" : "false");
    } else if (*r->at == 'n') {
        into->kind = JSON_NULL;
        well = word(r, "null");
    } else {
        into->kind = JSON_NUMBER;
        well = number(r, &into->number) && fraction(r, into);
    }
    r->depth--;
    return well;
}

struct json_value *json_parse(const char *text, size_t length, size_t *where)
{
    struct reader r = {.at = text, .end = text + length};
    struct json_value *root = calloc(1, sizeof *root);
    bool well = root != NULL && value(&r, root) && next_is(&r, '\n') && r.at == r.end;
    *where = (size_t)(r.at - text);
    if (well)
        return root;
    if (root != NULL)
        json_free(root);
    return NULL;
}

void json_free(struct json_value *v)
{
    while (v->first != NULL) {
        struct json_value *member = v->first;
        v->first = member->next;
        json_free(member);
    }
    free(v->string);
    free(v->key);
    free(v);
}

const struct json_value *json_member(const struct json_value *object, const char *key)
{
    for (const struct json_value *v = object->first; v != NULL; v = v->next)
        if (v->key != NULL && strcmp(v->key, key) == 0)
            return v;
    return NULL;
}

const struct json_value *json_element(const struct json_value *array, size_t index)
{
    const struct json_value *v = array->first;
    while (v != NULL && index-- > 0)
        v = v->next;
    return v;
}

size_t json_count(const struct json_value *container)
{
    size_t count = 0;
    for (const struct json_value *v = container->first; v != NULL; v = v->next)
        count++;
    return count;
}
