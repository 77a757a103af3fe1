/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/map_settings.h"

#include <string.h>

#include "base/options.h"

enum { US_MAX = 1000000, MIB_MAX = 1 << 24 };

static const struct {
    const char *variable;
    struct rsm_option option;
} tunables[MAPPING_TUNABLES] = {
    [MAPPING_TUNABLE_MODE] = {"RSM_MAP_MODE",
                              {.name = "mode",
                               .expected = "auto, precise, twin, mirror or off",
                               .words = {{"auto", MAPPING_AUTO},
                                         {"precise", MAPPING_PRECISE},
                                         {"twin", MAPPING_TWIN},
                                         {"mirror", MAPPING_MIRROR},
                                         {"off", MAPPING_OFF}}}},
    [MAPPING_TUNABLE_TRAP] = {"RSM_MAP_TRAP",
                              {.name = "trap",
                               .expected = "auto, signal or thread",
                               .words = {{"auto", MAPPING_TRAP_AUTO},
                                         {"signal", MAPPING_TRAP_SIGNAL},
                                         {"sigbus", MAPPING_TRAP_SIGBUS},
                                         {"thread", MAPPING_TRAP_THREAD}}}},
    [MAPPING_TUNABLE_K] = {"RSM_MAP_K",
                           {.name = "k",
                            .expected = "a number from 1 to 65535, or inf",
                            .words = {{"inf", MAPPING_THRESHOLD_NEVER}},
                            .digits_only = true,
                            .min = 1,
                            .max = UINT16_MAX}},
    [MAPPING_TUNABLE_FLUSH_US] = {"RSM_MAP_FLUSH_US",
                                  {.name = "flush-us",
                                   .expected = "a number from 1 to 1000000 (microseconds)",
                                   .digits_only = true,
                                   .min = 1,
                                   .max = US_MAX}},
    [MAPPING_TUNABLE_REFRESH_US] = {"RSM_MAP_REFRESH_US",
                                    {.name = "refresh-us",
                                     .expected = "a number from 0 to 1000000 (microseconds)",
                                     .digits_only = true,
                                     .max = US_MAX}},
    [MAPPING_TUNABLE_GRAIN] = {"RSM_MAP_GRAIN",
                               {.name = "grain",
                                .expected = "1, 2, 4, 8 or 64 (bytes)",
                                .words = {{"1", 1}, {"2", 2}, {"4", 4}, {"8", 8}, {"64", 64}}}},
    [MAPPING_TUNABLE_ATOMICS] = {"RSM_MAP_ATOMICS",
                                 {.name = "atomics",
                                  .expected = "warn or sigbus",
                                  .words = {{"warn", MAPPING_ATOMICS_WARN},
                                            {"sigbus", MAPPING_ATOMICS_SIGBUS}}}},
    [MAPPING_TUNABLE_CACHE_MIB] = {"RSM_MAP_CACHE_MIB",
                                   {.name = "cache-mib",
                                    .expected = "a number from 1 to 16777216 (MiB)",
                                    .digits_only = true,
                                    .min = 1,
                                    .max = MIB_MAX}},
};

const char *rsmcore_map_tunable_name(enum mapping_tunable tunable)
{
    return tunables[tunable].option.name;
}

const char *rsmcore_map_tunable_variable(enum mapping_tunable tunable)
{
    return tunables[tunable].variable;
}

const char *rsmcore_map_tunable_expected(enum mapping_tunable tunable)
{
    return tunables[tunable].option.expected;
}

enum mapping_tunable rsmcore_map_tunable_by_name(const char *name)
{
    unsigned tunable = 0;
    while (tunable < MAPPING_TUNABLES && strcmp(tunables[tunable].option.name, name) != 0)
        tunable++;
    return (enum mapping_tunable)tunable;
}

bool rsmcore_map_settings_parse(struct mapping_settings *settings, enum mapping_tunable which,
                                const char *text)
{
    uint64_t value;
    if (!rsm_option_read(&tunables[which].option, text, &value))
        return false;
    settings->value[which] = (uint32_t)value;
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
        if ((settings->given >> i & 1) && !rsm_option_has(&tunables[i].option, settings->value[i]))
            return false;
    return true;
}

bool rsmcore_map_settings_take(struct mapping_settings *settings, uint32_t given,
                               const uint32_t *value, uint32_t count)
{
    struct mapping_settings taken = {.given = 0};
    for (unsigned i = 0; i < MAPPING_TUNABLES && i < count; i++) {
        taken.value[i] = value[i];
        taken.given |= given & 1u << i;
    }
    if (!rsmcore_map_settings_are_valid(&taken))
        return false;
    *settings = taken;
    return true;
}

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
