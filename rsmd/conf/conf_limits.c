/* SPDX-License-Identifier: BSD-3-Clause */
/* Section [limits]. */
#include "base/number.h"
#include "conf/parser.h"

static bool set_max_segments(struct rsmd_conf_parser *p, const char *value)
{
    if (!rsm_number(value, 0, RSMD_CONF_SEGMENTS_MAX, &p->conf->max_segments))
        return rsmd_conf_fail(p, "expected a number from 0 (default) to %d after max-segments =",
                              RSMD_CONF_SEGMENTS_MAX);
    if (p->conf->max_segments == 0)
        p->conf->max_segments = RSMD_CONF_SEGMENTS_MAX;
    return true;
}

static bool set_ineffective(struct rsmd_conf_parser *p, const char *value)
{
    uint32_t ignored;
    p->conf->ineffective_keys = true;
    return rsm_number(value, 0, UINT32_MAX, &ignored) ||
           rsmd_conf_fail(p, "expected a number after the =");
}

#define NUMBER(name_, member, min_, max_, expected_)                                               \
    {                                                                                              \
        .name = (name_), .number = {                                                               \
            .expected = (expected_),                                                               \
            .digits_only = true,                                                                   \
            .min = (min_),                                                                         \
            .max = (max_),                                                                         \
            RSM_OPTION(struct rsmd_conf, member)                                                   \
        }                                                                                          \
    }

const struct rsmd_conf_key rsmd_conf_limit_keys[] = {
    NUMBER("max-exported-memory", max_exported_percent, 0, 100,
           "a number from 0 (no limit) to 100 (percent of physical memory)"),
    {.name = "max-segments", .set = set_max_segments},
    NUMBER("max-user-share", max_user_share, 1, 100,
           "a number from 1 to 100 (percent of each limit)"),
    NUMBER("peer-timeout-ms", peer_timeout_ms, 100, 60000,
           "a number from 100 to 60000 (milliseconds)"),
    {.name = "segment-hashtable-size", .set = set_ineffective},
    {.name = "enable-dynamic-reconfiguration", .set = set_ineffective},
    {.name = NULL},
};
