/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/map_settings.h"

#include <string.h>

#include "base/number.h"

struct word {
    const char *text;
    uint32_t value;
};

enum { WORDS_MOST = 5, US_MOST = 1000000 };

/* A value is one of the words, or a number from least to most if most is not 0. */
static const struct knob {
    const char *name, *variable, *expected;
    struct word words[WORDS_MOST];
    uint32_t least, most;
} knobs[SOFTMAP_KNOBS] = {
    [SOFTMAP_KNOB_MODE] = {"mode",
                           "RSM_MAP_MODE",
                           "auto, precise, twin, mirror or off",
                           {{"auto", SOFTMAP_AUTO},
                            {"precise", SOFTMAP_PRECISE},
                            {"twin", SOFTMAP_TWIN},
                            {"mirror", SOFTMAP_MIRROR},
                            {"off", SOFTMAP_OFF}},
                           0,
                           0},
    [SOFTMAP_KNOB_TRAP] = {"trap",
                           "RSM_MAP_TRAP",
                           "auto, signal, sigbus or thread",
                           {{"auto", SOFTMAP_TRAP_AUTO},
                            {"signal", SOFTMAP_TRAP_SIGNAL},
                            {"sigbus", SOFTMAP_TRAP_SIGBUS},
                            {"thread", SOFTMAP_TRAP_THREAD}},
                           0,
                           0},
    [SOFTMAP_KNOB_K] = {"k",
                        "RSM_MAP_K",
                        "a number from 1 to 65535, or inf",
                        {{"inf", SOFTMAP_THRESHOLD_NEVER}},
                        1,
                        UINT16_MAX},
    [SOFTMAP_KNOB_FLUSH_US] = {"flush-us",
                               "RSM_MAP_FLUSH_US",
                               "a number from 1 to 1000000 (microseconds)",
                               {{NULL, 0}},
                               1,
                               US_MOST},
    [SOFTMAP_KNOB_REFRESH_US] = {"refresh-us",
                                 "RSM_MAP_REFRESH_US",
                                 "a number from 0 to 1000000 (microseconds)",
                                 {{NULL, 0}},
                                 0,
                                 US_MOST},
    [SOFTMAP_KNOB_GRAIN] = {"grain",
                            "RSM_MAP_GRAIN",
                            "1, 2, 4, 8 or 64 (bytes)",
                            {{"1", 1}, {"2", 2}, {"4", 4}, {"8", 8}, {"64", 64}},
                            0,
                            0},
    [SOFTMAP_KNOB_ATOMICS] = {"atomics",
                              "RSM_MAP_ATOMICS",
                              "warn or sigbus",
                              {{"warn", SOFTMAP_ATOMICS_WARN}, {"sigbus", SOFTMAP_ATOMICS_SIGBUS}},
                              0,
                              0},
};

const char *softmap_knob_name(enum softmap_knob knob)
{
    return knobs[knob].name;
}

const char *softmap_knob_variable(enum softmap_knob knob)
{
    return knobs[knob].variable;
}

const char *softmap_knob_expected(enum softmap_knob knob)
{
    return knobs[knob].expected;
}

enum softmap_knob softmap_knob_named(const char *name)
{
    unsigned knob = 0;
    while (knob < SOFTMAP_KNOBS && strcmp(knobs[knob].name, name) != 0)
        knob++;
    return (enum softmap_knob)knob;
}

static bool is_word(const struct word *word)
{
    return word->text != NULL;
}

static bool value_exists(const struct knob *knob, uint32_t value)
{
    for (unsigned i = 0; i < WORDS_MOST && is_word(&knob->words[i]); i++)
        if (knob->words[i].value == value)
            return true;
    return knob->most > 0 && value >= knob->least && value <= knob->most;
}

bool softmap_settings_parse(struct softmap_settings *settings, enum softmap_knob which,
                            const char *text)
{
    const struct knob *knob = &knobs[which];
    uint32_t value = 0;
    bool known = false;
    for (unsigned i = 0; i < WORDS_MOST && is_word(&knob->words[i]) && !known; i++)
        if (strcmp(text, knob->words[i].text) == 0) {
            value = knob->words[i].value;
            known = true;
        }
    if (!known &&
        !(knob->most > 0 && rsm_number(text, 0, knob->most, &value) && value_exists(knob, value)))
        return false;
    settings->value[which] = value;
    settings->given |= 1u << which;
    return true;
}

void softmap_settings_overlay(struct softmap_settings *settings,
                              const struct softmap_settings *over)
{
    for (unsigned i = 0; i < SOFTMAP_KNOBS; i++)
        if (over->given >> i & 1)
            settings->value[i] = over->value[i];
    settings->given |= over->given;
}

bool softmap_settings_are_valid(const struct softmap_settings *settings)
{
    if (settings->given >> SOFTMAP_KNOBS != 0)
        return false;
    for (unsigned i = 0; i < SOFTMAP_KNOBS; i++)
        if ((settings->given >> i & 1) && !value_exists(&knobs[i], settings->value[i]))
            return false;
    return true;
}
