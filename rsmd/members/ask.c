/* SPDX-License-Identifier: BSD-3-Clause */
/* Ask the source, whichever it is. */
#include <stdio.h>
#include <string.h>

#include "members/members.h"

void rsmd_members_source_text(const struct rsmd_conf_members *rules, char *text, size_t size)
{
    static const char *const kinds[] = {
        [RSMD_NODES_FILE] = "file", [RSMD_NODES_DNS] = "dns:", [RSMD_NODES_EXEC] = "exec:"};
    snprintf(text, size, "%s%s", kinds[rules->source], rules->name);
}

bool rsmd_members_ask(const struct rsmd_conf_members *rules, struct rsmd_members *members,
                      char *why)
{
    char reason[RSMD_MEMBERS_WHY_BYTES] = "", source[RSM_PROTO_NAME_MAX + 8];
    *members = (struct rsmd_members){.ttl_s = RSMD_MEMBERS_PROGRAM_TTL_S};
    bool answered = rules->source == RSMD_NODES_DNS
                        ? rsmd_members_by_dns(members, rules, reason)
                        : rsmd_members_by_program(members, rules, reason);
    if (answered && rsmd_members_settle(members, reason))
        return true;
    rsmd_members_free(members);
    rsmd_members_source_text(rules, source, sizeof source);
    snprintf(why, RSMD_MEMBERS_WHY_BYTES, "%.120s: %.380s", source, reason);
    return false;
}

bool rsmd_members_first(const char *directory, const struct rsmd_conf_members *rules,
                        struct rsmd_members *members, char *why)
{
    char reason[RSMD_MEMBERS_WHY_BYTES];
    why[0] = '\0';
    if (rsmd_members_ask(rules, members, reason))
        return true;
    bool kept = rsmd_members_kept(directory, rules, members);
    snprintf(why, RSMD_MEMBERS_WHY_BYTES, "%.400s%s", reason,
             kept ? "; the members are those of the last time" : "");
    return kept;
}
