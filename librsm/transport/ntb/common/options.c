/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/ntb/common/options.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { WORD_MAX = 128 };

static bool set_pool(struct ntb_options *o, const char *text)
{
    return rsm_number_bytes(text, UINT64_C(4096), UINT64_C(1) << 50, &o->pool);
}

static bool set_pin(struct ntb_options *o, const char *text)
{
    if (strcmp(text, "no") == 0)
        o->pin = 0;
    else if (strcmp(text, "yes") == 0)
        o->pin = UINT64_MAX;
    else
        return rsm_number_bytes(text, UINT64_C(4096), UINT64_C(1) << 50, &o->pin);
    return true;
}

static bool set_pin_from(struct ntb_options *o, const char *text)
{
    return rsm_number_bytes(text, 0, UINT64_C(1) << 50, &o->pin_from);
}

static bool set_doorbell(struct ntb_options *o, const char *text)
{
    o->doorbell = strcmp(text, "yes") == 0;
    return o->doorbell || strcmp(text, "no") == 0;
}

static const struct {
    const char *name;
    bool (*set)(struct ntb_options *o, const char *text);
    const char *expected;
} known[] = {
    {"pool", set_pool, "at least 4096 bytes, or a number with K, M or G"},
    {"pin", set_pin, "yes, no, at least 4096 bytes, or a number with K, M or G"},
    {"pin_from", set_pin_from, "bytes, or a number with K, M or G"},
    {"doorbell", set_doorbell, "yes or no"},
};

/* One word, which is the caller's copy. */
static bool apply(char *word, struct ntb_options *options, char *why, size_t why_size)
{
    char *value = strchr(word, '=');
    if (value == NULL) {
        snprintf(why, why_size, "option \"%s\": expected NAME=VALUE", word);
        return false;
    }
    *value++ = '\0';
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, word) != 0)
            continue;
        if (known[i].set(options, value))
            return true;
        snprintf(why, why_size, "option %s: expected %s, not \"%s\"", word, known[i].expected,
                 value);
        return false;
    }
    snprintf(why, why_size, "option \"%s\" is not one of the ntb transport", word);
    return false;
}

static bool read_words(const char *text, struct ntb_options *options, char *why, size_t why_size)
{
    static const char separators[] = ", \t";
    for (text += strspn(text, separators); *text != '\0'; text += strspn(text, separators)) {
        char word[WORD_MAX];
        size_t length = strcspn(text, separators);
        if (length >= sizeof word) {
            snprintf(why, why_size, "an option is longer than %d characters", WORD_MAX - 1);
            return false;
        }
        memcpy(word, text, length);
        word[length] = '\0';
        if (!apply(word, options, why, why_size))
            return false;
        text += length;
    }
    return true;
}

bool ntb_options_parse(const char *text, struct ntb_options *options, char *why, size_t why_size)
{
    *options = (struct ntb_options){.pin_from = UINT64_MAX, .doorbell = true};
    if (!read_words(text, options, why, why_size))
        return false;
    if (options->pin != 0 || options->pin_from == UINT64_MAX)
        return true;
    snprintf(why, why_size, "option pin_from: expected option pin with it");
    return false;
}
