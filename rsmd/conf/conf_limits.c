/* SPDX-License-Identifier: BSD-3-Clause */
/* Section [limits]. */
#include "base/number.h"
#include "conf/parser.h"

static bool set_max_exported_memory(struct rsmd_conf_parser *p, const char *value)
{
    return rsm_number(value, 0, 100, &p->conf->max_exported_percent) ||
           rsmd_conf_fail(
               p, "expected a number from 0 (no limit) to 100 (percent of physical memory) after "
                  "max-exported-memory =");
}

static bool set_max_segments(struct rsmd_conf_parser *p, const char *value)
{
    if (!rsm_number(value, 0, RSMD_CONF_SEGMENTS_MAX, &p->conf->max_segments))
        return rsmd_conf_fail(p, "expected a number from 0 (default) to %d after max-segments =",
                              RSMD_CONF_SEGMENTS_MAX);
    if (p->conf->max_segments == 0)
        p->conf->max_segments = RSMD_CONF_SEGMENTS_MAX;
    return true;
}

static bool set_max_user_share(struct rsmd_conf_parser *p, const char *value)
{
    return rsm_number(value, 1, 100, &p->conf->max_user_share) ||
           rsmd_conf_fail(p, "expected a number from 1 to 100 (percent of each limit) after "
                             "max-user-share =");
}

static bool set_peer_timeout(struct rsmd_conf_parser *p, const char *value)
{
    return rsm_number(value, 100, 60000, &p->conf->peer_timeout_ms) ||
           rsmd_conf_fail(
               p, "expected a number from 100 to 60000 (milliseconds) after peer-timeout-ms =");
}

static bool set_ineffective(struct rsmd_conf_parser *p, const char *value)
{
    uint32_t ignored;
    p->conf->ineffective_keys = true;
    return rsm_number(value, 0, UINT32_MAX, &ignored) ||
           rsmd_conf_fail(p, "expected a number after the =");
}

const struct rsmd_conf_key rsmd_conf_limit_keys[] = {
    {"max-exported-memory", set_max_exported_memory},
    {"max-segments", set_max_segments},
    {"max-user-share", set_max_user_share},
    {"peer-timeout-ms", set_peer_timeout},
    {"segment-hashtable-size", set_ineffective},
    {"enable-dynamic-reconfiguration", set_ineffective},
    {NULL, NULL},
};
