/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/map_settings.h"

#include <string.h>

#include "base/number.h"

struct word {
    const char *text;
    uint32_t value;
};

enum { WORDS_MAX = 5, US_MAX = 1000000 };

/* A value is one of the words, or a number from least to most if most is not 0. */
static const struct tunable {
    const char *name, *variable, *expected;
    struct word words[WORDS_MAX];
    uint32_t least, most;
} tunables[MAPPING_TUNABLES] = {
    [MAPPING_TUNABLE_MODE] = {"mode",
                              "RSM_MAP_MODE",
                              "auto, precise, twin, mirror or off",
                              {{"auto", MAPPING_AUTO},
                               {"precise", MAPPING_PRECISE},
                               {"twin", MAPPING_TWIN},
                               {"mirror", MAPPING_MIRROR},
                               {"off", MAPPING_OFF}},
                              0,
                              0},
    [MAPPING_TUNABLE_TRAP] = {"trap",
                              "RSM_MAP_TRAP",
                              "auto, signal or thread",
                              {{"auto", MAPPING_TRAP_AUTO},
                               {"signal", MAPPING_TRAP_SIGNAL},
                               {"sigbus", MAPPING_TRAP_SIGBUS},
                               {"thread", MAPPING_TRAP_THREAD}},
                              0,
                              0},
    [MAPPING_TUNABLE_K] = {"k",
                           "RSM_MAP_K",
                           "a number from 1 to 65535, or inf",
                           {{"inf", MAPPING_THRESHOLD_NEVER}},
                           1,
                           UINT16_MAX},
    [MAPPING_TUNABLE_FLUSH_US] = {"flush-us",
                                  "RSM_MAP_FLUSH_US",
                                  "a number from 1 to 1000000 (microseconds)",
                                  {{NULL, 0}},
                                  1,
                                  US_MAX},
    [MAPPING_TUNABLE_REFRESH_US] = {"refresh-us",
                                    "RSM_MAP_REFRESH_US",
                                    "a number from 0 to 1000000 (microseconds)",
                                    {{NULL, 0}},
                                    0,
                                    US_MAX},
    [MAPPING_TUNABLE_GRAIN] = {"grain",
                               "RSM_MAP_GRAIN",
                               "1, 2, 4, 8 or 64 (bytes)",
                               {{"1", 1}, {"2", 2}, {"4", 4}, {"8", 8}, {"64", 64}},
                               0,
                               0},
    [MAPPING_TUNABLE_ATOMICS] = {"atomics",
                                 "RSM_MAP_ATOMICS",
                                 "warn or sigbus",
                                 {{"warn", MAPPING_ATOMICS_WARN},
                                  {"sigbus", MAPPING_ATOMICS_SIGBUS}},
                                 0,
                                 0},
};

const char *rsmcore_map_tunable_name(enum mapping_tunable tunable)
{
    return tunables[tunable].name;
}

const char *rsmcore_map_tunable_variable(enum mapping_tunable tunable)
{
    return tunables[tunable].variable;
}

const char *rsmcore_map_tunable_expected(enum mapping_tunable tunable)
{
    return tunables[tunable].expected;
}

enum mapping_tunable rsmcore_map_tunable_by_name(const char *name)
{
    unsigned tunable = 0;
    while (tunable < MAPPING_TUNABLES && strcmp(tunables[tunable].name, name) != 0)
        tunable++;
    return (enum mapping_tunable)tunable;
}

static bool is_word(const struct word *word)
{
    return word->text != NULL;
}

static bool value_exists(const struct tunable *tunable, uint32_t value)
{
    for (unsigned i = 0; i < WORDS_MAX && is_word(&tunable->words[i]); i++)
        if (tunable->words[i].value == value)
            return true;
    return tunable->most > 0 && value >= tunable->least && value <= tunable->most;
}

bool rsmcore_map_settings_parse(struct mapping_settings *settings, enum mapping_tunable which,
                                const char *text)
{
    const struct tunable *tunable = &tunables[which];
    uint32_t value = 0;
    bool known = false;
    for (unsigned i = 0; i < WORDS_MAX && is_word(&tunable->words[i]) && !known; i++)
        if (strcmp(text, tunable->words[i].text) == 0) {
            value = tunable->words[i].value;
            known = true;
        }
    if (!known && !(tunable->most > 0 && rsm_number(text, 0, tunable->most, &value) &&
                    value_exists(tunable, value)))
        return false;
    settings->value[which] = value;
    settings->given |= 1u << which;
    return true;
}

void rsmcore_map_settings_overlay(struct mapping_settings *settings,
                                  const struct mapping_settings *over)
{
    for (unsigned i = 0; i < MAPPING_TUNABLES; i++)
        if (over->given >> i & 1)
            settings->value[i] = over->value[i];
    settings->given |= over->given;
}

bool rsmcore_map_settings_are_valid(const struct mapping_settings *settings)
{
    if (settings->given >> MAPPING_TUNABLES != 0)
        return false;
    for (unsigned i = 0; i < MAPPING_TUNABLES; i++)
        if ((settings->given >> i & 1) && !value_exists(&tunables[i], settings->value[i]))
            return false;
    return true;
}

/* ---------------------------------------------------------------- the choice that was made */

static const char *const traps[MAPPING_USED_TRAPS] = {
    [MAPPING_USED_NONE] = "-",
    [MAPPING_USED_SIGNAL] = "signal",
    [MAPPING_USED_THREAD] = "thread",
    [MAPPING_USED_MIRROR] = "mirror",
};

static const struct {
    const char *name, *text;
} reasons[MAPPING_REASONS] = {
    [MAPPING_REASON_NONE] = {"-", "system calls, and threads that block signals, can use mappings"},
    [MAPPING_REASON_REQUESTED] = {"requested", "rsm.conf or the environment asks for it"},
    [MAPPING_REASON_DECODING] = {"decoding", "instructions have to be decoded"},
    [MAPPING_REASON_NO_USERFAULTFD] = {"no-userfaultfd",
                                       "this kernel or what this process may do has no userfaultfd "
                                       "that suffices"},
    [MAPPING_REASON_NO_PERMISSION] = {"no-permission",
                                      "this process may not serve faults of system calls: neither "
                                      "/dev/userfaultfd nor a privilege is there"},
    [MAPPING_REASON_WRITE_ONLY] = {"write-only", "the connection may not read"},
};

bool rsmcore_map_choice_is_valid(const struct mapping_choice *choice)
{
    return choice->trap < MAPPING_USED_TRAPS && choice->reason < MAPPING_REASONS &&
           (choice->trap != MAPPING_USED_NONE || choice->reason == MAPPING_REASON_NONE);
}

const char *rsmcore_map_trap_name(uint32_t trap)
{
    return trap < MAPPING_USED_TRAPS ? traps[trap] : "unknown";
}

const char *rsmcore_map_reason_name(uint32_t reason)
{
    return reason < MAPPING_REASONS ? reasons[reason].name : "unknown";
}

const char *rsmcore_map_reason_text(enum mapping_trap_reason reason)
{
    return reasons[reason].text;
}
