/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/options.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { WORD_MAX = 128 };

static bool is_in_range(const struct rsm_option *option, uint64_t value)
{
    return option->max > 0 && value >= option->min && value <= option->max;
}

bool rsm_option_read(const struct rsm_option *option, const char *text, uint64_t *value)
{
    for (size_t i = 0; i < RSM_OPTION_WORDS && option->words[i].text != NULL; i++)
        if (strcmp(option->words[i].text, text) == 0) {
            *value = option->words[i].value;
            return true;
        }
    bool digits = text[strspn(text, "0123456789")] == '\0';
    return (digits || !option->digits_only) && rsm_number_bytes(text, 0, UINT64_MAX, value) &&
           is_in_range(option, *value);
}

bool rsm_option_has(const struct rsm_option *option, uint64_t value)
{
    for (size_t i = 0; i < RSM_OPTION_WORDS && option->words[i].text != NULL; i++)
        if (option->words[i].value == value)
            return true;
    return is_in_range(option, value);
}

bool rsm_option_set(const struct rsm_option *option, const char *text, void *settings)
{
    char *member = (char *)settings + option->offset;
    uint64_t value;
    if (option->set != NULL)
        return option->set(settings, text);
    if (!rsm_option_read(option, text, &value))
        return false;
    if (option->size == sizeof(bool))
        *(bool *)member = value != 0;
    else if (option->size == sizeof(uint32_t))
        *(uint32_t *)(void *)member = (uint32_t)value;
    else
        *(uint64_t *)(void *)member = value;
    return true;
}

/* One word, which is the caller's copy; *why is as in rsm_options_parse(). */
static bool apply(const struct rsm_option *known, size_t count, const char *owner, char *word,
                  void *settings, char *why, size_t why_size)
{
    char *value = strchr(word, '=');
    if (value == NULL) {
        snprintf(why, why_size, "option \"%s\": expected NAME=VALUE", word);
        return false;
    }
    *value++ = '\0';
    size_t i = 0;
    while (i < count && strcmp(known[i].name, word) != 0)
        i++;
    if (i == count)
        snprintf(why, why_size, "option \"%s\" is not one of %s", word, owner);
    else if (rsm_option_set(&known[i], value, settings))
        return true;
    else
        snprintf(why, why_size, "option %s: expected %s, not \"%s\"", word, known[i].expected,
                 value);
    return false;
}

bool rsm_options_parse(const struct rsm_option *known, size_t count, const char *owner,
                       const char *text, void *settings, char *why, size_t why_size)
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
        if (!apply(known, count, owner, word, settings, why, why_size))
            return false;
        text += length;
    }
    return true;
}
